<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- public.xsl - the public report: totals of both sides, and what they rest on -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:r="urn:pagetrail:report:1"
                exclude-result-prefixes="r">
  <xsl:import href="report.xsl"/>

  <xsl:template name="title">Incident report: content of other requests in responses</xsl:template>
  <xsl:template name="marking">Public</xsl:template>
  <xsl:template name="nav-first"><li><a href="#statement">Who was concerned</a></li><li><a href="#evidence">How we know</a></li></xsl:template>
  <xsl:template name="nav-last"><li><a href="#method">Method</a></li></xsl:template>
  <xsl:template name="first"><xsl:apply-templates select="r:numbers"/></xsl:template>
  <xsl:template name="in-section"><xsl:if test="@id = 'signals'"><xsl:call-template name="signals"/></xsl:if></xsl:template>
  <xsl:template name="last"><xsl:call-template name="method"/></xsl:template>
  <xsl:template name="foot">This paper states facts from logs; causes and consequences are for people to decide.</xsl:template>
  <xsl:template name="beyond">
    <p>Beyond what can be counted: logs that nobody collected; what recipients read, kept or passed on; whose personal data prompts held.
      The number of people behind a customer is not in the logs. Loss of logs is not random: it goes with overload, and so do very long prompts.</p>
  </xsl:template>

  <xsl:template name="tiles">
    <xsl:param name="side"/><xsl:param name="excluded"/>
    <ul class="classes">
      <xsl:call-template name="class"><xsl:with-param name="id" select="concat($side, '1')"/><xsl:with-param name="words">confirmed</xsl:with-param><xsl:with-param name="kind">c1</xsl:with-param></xsl:call-template>
      <xsl:call-template name="class"><xsl:with-param name="id" select="concat($side, '2')"/><xsl:with-param name="words">probable</xsl:with-param><xsl:with-param name="kind">c2</xsl:with-param></xsl:call-template>
      <xsl:call-template name="class"><xsl:with-param name="id" select="concat($side, '3')"/><xsl:with-param name="words">possible</xsl:with-param><xsl:with-param name="kind">c3</xsl:with-param></xsl:call-template>
      <xsl:call-template name="class"><xsl:with-param name="id" select="concat($side, '4')"/><xsl:with-param name="words" select="$excluded"/><xsl:with-param name="kind">c4</xsl:with-param></xsl:call-template>
      <xsl:call-template name="class"><xsl:with-param name="id" select="concat($side, '5')"/><xsl:with-param name="words">could not be determined</xsl:with-param><xsl:with-param name="kind">c5</xsl:with-param></xsl:call-template>
    </ul>
  </xsl:template>

  <xsl:template match="r:numbers">
    <section id="statement" aria-labelledby="h-statement">
      <h2 id="h-statement">Who was concerned</h2>
      <xsl:if test="r:trigger-stands = 'no' or r:build-stands = 'no'">
        <p class="warning">A C1 response contradicts what was first assumed of the cause. That assumption excludes nothing in this paper.</p>
      </xsl:if>
      <div class="statement">
        <p><b>Responses that hold what was not the recipient's own:</b> of
          <xsl:call-template name="n"><xsl:with-param name="id">population</xsl:with-param></xsl:call-template> response<xsl:call-template name="s"><xsl:with-param name="id">population</xsl:with-param></xsl:call-template> in the evidence<xsl:if test="r:population-first">,
          begun from <xsl:apply-templates select="r:population-first" mode="time"/> until before <xsl:apply-templates select="r:population-before" mode="time"/></xsl:if>,
          <b><xsl:call-template name="n"><xsl:with-param name="id">C1</xsl:with-param></xsl:call-template></b><xsl:call-template name="s"><xsl:with-param name="id">C1</xsl:with-param><xsl:with-param name="one"> is</xsl:with-param><xsl:with-param name="many"> are</xsl:with-param></xsl:call-template> confirmed (C1),
          <b><xsl:call-template name="n"><xsl:with-param name="id">C2</xsl:with-param></xsl:call-template></b> probable (C2),
          <b><xsl:call-template name="n"><xsl:with-param name="id">C3</xsl:with-param></xsl:call-template></b> possible (C3), and
          <b><xsl:call-template name="n"><xsl:with-param name="id">C5</xsl:with-param></xsl:call-template></b> could not be determined (C5).
          Those of C1 and C2 went to <xsl:call-template name="n"><xsl:with-param name="id">affected_tenants</xsl:with-param></xsl:call-template> customer<xsl:call-template name="s"><xsl:with-param name="id">affected_tenants</xsl:with-param></xsl:call-template><xsl:if test="r:affected-first">,
          and began from <xsl:apply-templates select="r:affected-first" mode="time"/> until before <xsl:apply-templates select="r:affected-before" mode="time"/></xsl:if>.</p>
        <p><b>Requests that others read:</b> of
          <xsl:call-template name="n"><xsl:with-param name="id">owners</xsl:with-param></xsl:call-template> request<xsl:call-template name="s"><xsl:with-param name="id">owners</xsl:with-param></xsl:call-template>,
          <b><xsl:call-template name="n"><xsl:with-param name="id">E1</xsl:with-param></xsl:call-template></b><xsl:call-template name="s"><xsl:with-param name="id">E1</xsl:with-param><xsl:with-param name="one"> is</xsl:with-param><xsl:with-param name="many"> are</xsl:with-param></xsl:call-template> confirmed as read (E1),
          <b><xsl:call-template name="n"><xsl:with-param name="id">E2</xsl:with-param></xsl:call-template></b> probable (E2),
          <b><xsl:call-template name="n"><xsl:with-param name="id">E3</xsl:with-param></xsl:call-template></b> possible (E3), and
          <b><xsl:call-template name="n"><xsl:with-param name="id">E5</xsl:with-param></xsl:call-template></b> could not be determined (E5).
          Those of E1 and E2 belong to <xsl:call-template name="n"><xsl:with-param name="id">exposed_tenants</xsl:with-param></xsl:call-template> customer<xsl:call-template name="s"><xsl:with-param name="id">exposed_tenants</xsl:with-param></xsl:call-template>.
          <xsl:if test="r:affected-first">This side begins earlier: memory keeps its content until it is overwritten, so what was read can date back to
            <xsl:choose><xsl:when test="r:exposed-first"><xsl:apply-templates select="r:exposed-first" mode="time"/></xsl:when>
            <xsl:otherwise>a time before the logs begin</xsl:otherwise></xsl:choose>.</xsl:if></p>
        <xsl:if test="key('number', 'limit_least')"><p><b>Condition:</b> a prompt of
          <xsl:call-template name="n"><xsl:with-param name="id">limit_least</xsl:with-param></xsl:call-template> tokens or more, or a hand-off between
          machines that did not match, answered by an affected build. The condition could be produced deliberately by any account able to submit such a prompt.</p></xsl:if>
        <xsl:if test="/r:report/r:header/r:as-of"><p>As of <xsl:apply-templates select="/r:report/r:header/r:as-of" mode="time"/>, issue <xsl:value-of select="/r:report/r:header/r:issue"/>.</p></xsl:if>
      </div>
      <h3>Responses</h3>
      <xsl:call-template name="tiles"><xsl:with-param name="side">C</xsl:with-param><xsl:with-param name="excluded">excluded by what was found out</xsl:with-param></xsl:call-template>
      <h3>Requests</h3>
      <xsl:call-template name="tiles"><xsl:with-param name="side">E</xsl:with-param><xsl:with-param name="excluded">0 reads known or suspected</xsl:with-param></xsl:call-template>
      <p class="note">The five classes of a side add up to its total. Counts from 1 to 4 are printed as 'fewer than 5', and where a count
        would give such a one away it is withheld. Windows are rounded outwards to hours. 'At least' marks a count beside known gaps.</p>
    </section>
    <section id="evidence" aria-labelledby="h-evidence">
      <h2 id="h-evidence">How we know</h2>
      <p>These numbers rest on <xsl:call-template name="n"><xsl:with-param name="id">records</xsl:with-param></xsl:call-template> log record<xsl:call-template name="s"><xsl:with-param name="id">records</xsl:with-param></xsl:call-template> from
        <xsl:call-template name="n"><xsl:with-param name="id">sources</xsl:with-param></xsl:call-template> source<xsl:call-template name="s"><xsl:with-param name="id">sources</xsl:with-param></xsl:call-template>;
        <xsl:call-template name="n"><xsl:with-param name="id">unparsed</xsl:with-param></xsl:call-template> record<xsl:call-template name="s"><xsl:with-param name="id">unparsed</xsl:with-param></xsl:call-template> could not be understood.
        The machines' logs span <xsl:call-template name="share"><xsl:with-param name="id">seen_s</xsl:with-param></xsl:call-template> machine-second<xsl:call-template name="of-s"><xsl:with-param name="id">seen_s</xsl:with-param></xsl:call-template> of the window.
        Gaps known in them: <xsl:call-template name="n"><xsl:with-param name="id">gaps</xsl:with-param></xsl:call-template>.
        A response of which evidence is missing is never counted as excluded for that.</p>
    </section>
  </xsl:template>

  <xsl:template name="signals">
    <p>Searched: <xsl:call-template name="n"><xsl:with-param name="id">records</xsl:with-param></xsl:call-template> record<xsl:call-template name="s"><xsl:with-param name="id">records</xsl:with-param></xsl:call-template>. The fields that the signs need are there for
      <xsl:call-template name="share"><xsl:with-param name="id">searchable</xsl:with-param></xsl:call-template> response<xsl:call-template name="of-s"><xsl:with-param name="id">searchable</xsl:with-param></xsl:call-template>.
      The table gives the matches. It does not show that nobody exploited the defect: see Limits; logs do not record what recipients did with responses.</p>
  </xsl:template>

  <xsl:template name="method">
    <section id="method" aria-labelledby="h-method">
      <h2 id="h-method">Method</h2>
      <xsl:call-template name="rules"/>
      <xsl:call-template name="basis-last"/>
    </section>
  </xsl:template>
</xsl:stylesheet>
