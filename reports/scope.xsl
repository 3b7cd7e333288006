<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- scope.xsl - the scope report -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:r="urn:pagetrail:report:1"
                exclude-result-prefixes="r">
  <xsl:import href="report.xsl"/>

  <xsl:template name="title">Scope of exposure</xsl:template>
  <xsl:template name="audience">: names tenants and requests; not to be handed out</xsl:template>
  <xsl:template name="nav-first"><li><a href="#statement">Statement of scope</a></li></xsl:template>
  <xsl:template name="nav-last"><li><a href="#method">Method</a></li><li><a href="#verify">How to verify</a></li></xsl:template>
  <xsl:template name="first"><xsl:apply-templates select="r:numbers"/></xsl:template>
  <xsl:template name="in-section"><xsl:if test="@id = 'signals'"><xsl:call-template name="signals"/></xsl:if></xsl:template>
  <xsl:template name="last"><xsl:call-template name="method"/><xsl:call-template name="verify"/></xsl:template>
  <xsl:template name="foot">The same case and arguments give this file byte for byte. This paper states facts; causes,
    consequences and whom to notify are for people to decide.</xsl:template>
  <xsl:template name="beyond">
    <p>Beyond what can be counted: logs that nobody collected; what recipients read, kept or forwarded; whose personal data prompts
      held. The number of people behind a tenant is not in the logs. Loss of logs is not random: it goes with overload, and so do very long prompts.</p>
  </xsl:template>

  <xsl:template match="r:numbers">
    <section id="statement" aria-labelledby="h-statement">
      <h2 id="h-statement">Statement of scope</h2>
      <xsl:if test="r:trigger-stands = 'no' or r:build-stands = 'no'">
        <p class="warning">A C1 response contradicts the assumed <xsl:if test="r:trigger-stands = 'no'">trigger</xsl:if>
          <xsl:if test="r:trigger-stands = 'no' and r:build-stands = 'no'"> and the assumed </xsl:if>
          <xsl:if test="r:build-stands = 'no'">affected builds</xsl:if>. That assumption excludes nothing in this report.</p>
      </xsl:if>
      <div class="statement">
        <p>Of <b><xsl:call-template name="n"><xsl:with-param name="id">population</xsl:with-param></xsl:call-template></b> response<xsl:call-template name="s"><xsl:with-param name="id">population</xsl:with-param></xsl:call-template> in the evidence<xsl:if test="r:population-first">,
          started from <xsl:apply-templates select="r:population-first" mode="time"/> until before <xsl:apply-templates select="r:population-before" mode="time"/></xsl:if>,
          <b><xsl:call-template name="n"><xsl:with-param name="id">C1</xsl:with-param></xsl:call-template></b><xsl:call-template name="s"><xsl:with-param name="id">C1</xsl:with-param><xsl:with-param name="one"> is</xsl:with-param><xsl:with-param name="many"> are</xsl:with-param></xsl:call-template> confirmed (C1),
          <b><xsl:call-template name="n"><xsl:with-param name="id">C2</xsl:with-param></xsl:call-template></b> probable (C2),
          <b><xsl:call-template name="n"><xsl:with-param name="id">C3</xsl:with-param></xsl:call-template></b> possible (C3), and
          <b><xsl:call-template name="n"><xsl:with-param name="id">C5</xsl:with-param></xsl:call-template></b> could not be determined (C5).
          At most <xsl:call-template name="share"><xsl:with-param name="id">affected_at_most</xsl:with-param></xsl:call-template> of the responses seen<xsl:call-template name="s"><xsl:with-param name="id">affected_at_most</xsl:with-param><xsl:with-param name="one"> is</xsl:with-param><xsl:with-param name="many"> are</xsl:with-param></xsl:call-template> affected;
          responses that no log holds are not in these numbers.</p>
        <xsl:if test="r:affected-first">
          <p><b>Recipient window:</b> C1 confirmed and C2 probable responses started from
            <xsl:apply-templates select="r:affected-first" mode="time"/> until before <xsl:apply-templates select="r:affected-before" mode="time"/>. They went to
            <xsl:call-template name="n"><xsl:with-param name="id">affected_tenants</xsl:with-param></xsl:call-template> named tenant<xsl:call-template name="s"><xsl:with-param name="id">affected_tenants</xsl:with-param></xsl:call-template>.
            <xsl:call-template name="share"><xsl:with-param name="id">affected_over_pool</xsl:with-param></xsl:call-template> had a prompt longer than the pool,
            <xsl:call-template name="share"><xsl:with-param name="id">affected_boundary</xsl:with-param></xsl:call-template> lay between the input limit and the pool.</p>
        </xsl:if>
        <p><b>Exposed side:</b> pages keep their content until they are overwritten<xsl:if test="r:affected-first">, so the exposed window begins earlier: what
            those responses read can date back to
            <xsl:choose><xsl:when test="r:exposed-first"><xsl:apply-templates select="r:exposed-first" mode="time"/>, the first start of the boots concerned</xsl:when>
            <xsl:otherwise>a time before the logs begin, for the start of a boot concerned is unknown</xsl:otherwise></xsl:choose></xsl:if>.
            Of the requests in the evidence, <xsl:call-template name="share"><xsl:with-param name="id">E1</xsl:with-param></xsl:call-template><xsl:call-template name="s"><xsl:with-param name="id">E1</xsl:with-param><xsl:with-param name="one"> is</xsl:with-param><xsl:with-param name="many"> are</xsl:with-param></xsl:call-template> confirmed as read (E1),
            <xsl:call-template name="share"><xsl:with-param name="id">E2</xsl:with-param></xsl:call-template> probable (E2; E1 and E2 belong to
            <xsl:call-template name="n"><xsl:with-param name="id">exposed_tenants</xsl:with-param></xsl:call-template> named tenant<xsl:call-template name="s"><xsl:with-param name="id">exposed_tenants</xsl:with-param></xsl:call-template>),
            <xsl:call-template name="share"><xsl:with-param name="id">E3</xsl:with-param></xsl:call-template> possible (E3), and
            <xsl:call-template name="share"><xsl:with-param name="id">E5</xsl:with-param></xsl:call-template> could not be determined (E5).
            <xsl:if test="r:affected-first">Another tenant's content is known to be read in <xsl:call-template name="share"><xsl:with-param name="id">affected_cross_tenant</xsl:with-param></xsl:call-template> affected response<xsl:call-template name="of-s"><xsl:with-param name="id">affected_cross_tenant</xsl:with-param></xsl:call-template>,
            the same tenant's in <xsl:call-template name="share"><xsl:with-param name="id">affected_same_tenant</xsl:with-param></xsl:call-template>;
            in <xsl:call-template name="share"><xsl:with-param name="id">affected_owner_unknown</xsl:with-param></xsl:call-template> the owner is not known.</xsl:if></p>
        <p><b>Evidence:</b><xsl:text> </xsl:text><xsl:call-template name="n"><xsl:with-param name="id">records</xsl:with-param></xsl:call-template> record<xsl:call-template name="s"><xsl:with-param name="id">records</xsl:with-param></xsl:call-template> from
          <xsl:call-template name="n"><xsl:with-param name="id">sources</xsl:with-param></xsl:call-template> source<xsl:call-template name="s"><xsl:with-param name="id">sources</xsl:with-param></xsl:call-template>;
          <xsl:call-template name="n"><xsl:with-param name="id">unparsed</xsl:with-param></xsl:call-template> not understood,
          <xsl:call-template name="n"><xsl:with-param name="id">gaps</xsl:with-param></xsl:call-template> known gap<xsl:call-template name="s"><xsl:with-param name="id">gaps</xsl:with-param></xsl:call-template>,
          <xsl:call-template name="n"><xsl:with-param name="id">conflicts</xsl:with-param></xsl:call-template> conflict<xsl:call-template name="s"><xsl:with-param name="id">conflicts</xsl:with-param></xsl:call-template> between sources.
          Lineage is decided for <xsl:call-template name="share"><xsl:with-param name="id">l_known</xsl:with-param></xsl:call-template> response<xsl:call-template name="of-s"><xsl:with-param name="id">l_known</xsl:with-param></xsl:call-template>.
          Worker logs span <xsl:call-template name="share"><xsl:with-param name="id">seen_s</xsl:with-param></xsl:call-template> worker-second<xsl:call-template name="of-s"><xsl:with-param name="id">seen_s</xsl:with-param></xsl:call-template> of the window.
          <xsl:if test="/r:report/r:header/r:as-of">As of <xsl:apply-templates select="/r:report/r:header/r:as-of" mode="time"/>, issue <xsl:value-of select="/r:report/r:header/r:issue"/>.</xsl:if></p>
      </div>
      <ul class="classes">
        <xsl:call-template name="class"><xsl:with-param name="id">C1</xsl:with-param><xsl:with-param name="words">confirmed</xsl:with-param><xsl:with-param name="kind">c1</xsl:with-param></xsl:call-template>
        <xsl:call-template name="class"><xsl:with-param name="id">C2</xsl:with-param><xsl:with-param name="words">probable</xsl:with-param><xsl:with-param name="kind">c2</xsl:with-param></xsl:call-template>
        <xsl:call-template name="class"><xsl:with-param name="id">C3</xsl:with-param><xsl:with-param name="words">possible</xsl:with-param><xsl:with-param name="kind">c3</xsl:with-param></xsl:call-template>
        <xsl:call-template name="class"><xsl:with-param name="id">C4</xsl:with-param><xsl:with-param name="words">not affected</xsl:with-param><xsl:with-param name="kind">c4</xsl:with-param></xsl:call-template>
        <xsl:call-template name="class"><xsl:with-param name="id">C5</xsl:with-param><xsl:with-param name="words">could not be determined</xsl:with-param><xsl:with-param name="kind">c5</xsl:with-param></xsl:call-template>
      </ul>
      <p class="note">The five classes add up to the <xsl:call-template name="n"><xsl:with-param name="id">population</xsl:with-param></xsl:call-template> response<xsl:call-template name="s"><xsl:with-param name="id">population</xsl:with-param></xsl:call-template>.
        Numbers are counted from the evidence; 'at most' marks an upper bound, 'at least' a count beside known gaps.</p>
    </section>
  </xsl:template>

  <xsl:template name="signals">
    <p>Searched: <xsl:call-template name="n"><xsl:with-param name="id">records</xsl:with-param></xsl:call-template> record<xsl:call-template name="s"><xsl:with-param name="id">records</xsl:with-param></xsl:call-template>. The fields that the signals need are there for
      <xsl:call-template name="share"><xsl:with-param name="id">searchable</xsl:with-param></xsl:call-template> response<xsl:call-template name="of-s"><xsl:with-param name="id">searchable</xsl:with-param></xsl:call-template>, over a window that worker logs span to
      <xsl:call-template name="share"><xsl:with-param name="id">seen_s</xsl:with-param></xsl:call-template> worker-second<xsl:call-template name="of-s"><xsl:with-param name="id">seen_s</xsl:with-param></xsl:call-template>.
      The table gives the matches. It does not show that nobody exploited the defect: see Limits; logs do not record what recipients did with responses.
      <xsl:if test="key('number', 'limit_least')">The condition could be produced deliberately by any account able to submit a prompt of
        <xsl:call-template name="n"><xsl:with-param name="id">limit_least</xsl:with-param></xsl:call-template> tokens or more.</xsl:if></p>
  </xsl:template>

  <xsl:template name="method">
    <section id="method" aria-labelledby="h-method">
      <h2 id="h-method">Method</h2>
      <xsl:call-template name="rules"/>
      <dl class="people">
        <dt>Boot</dt><dd>one run of one worker, from its start line to its stop or next start, with the limits it ran with</dd>
        <dt>Owner, reader</dt><dd>the request whose content a page holds; the request that attended over it</dd>
        <dt>Recipient, exposed</dt><dd>the tenant that received someone else's content; the tenant whose content it was</dd>
        <dt>Page</dt><dd>a slot of the KV cache of one worker, reused from one request to the next</dd>
      </dl>
      <details><summary>Queries behind the tables</summary>
        <div class="scroll" tabindex="0" role="region" aria-label="Queries"><table>
          <thead><tr><th scope="col">Section</th><th scope="col">Query</th><th scope="col">Rows</th><th scope="col">SHA-256 of its text</th></tr></thead>
          <tbody><xsl:for-each select="/r:report/r:section/r:table"><tr><td><xsl:value-of select="../@title"/></td><td><code><xsl:value-of select="@query"/></code></td>
            <td class="count"><xsl:call-template name="count"><xsl:with-param name="value" select="@rows"/></xsl:call-template></td><td class="digest"><xsl:value-of select="@query-sha256"/></td></tr></xsl:for-each></tbody>
        </table></div></details>
    </section>
  </xsl:template>

  <xsl:template name="verify">
    <section id="verify" aria-labelledby="h-verify">
      <h2 id="h-verify">How to verify</h2>
      <ol>
        <li><code>pagetrail verify CASE</code> reads the evidence once and compares it with its digests; content digest and journal head must be those of the first page.</li>
        <li>Hash the original files with <code>sha256sum</code> and compare with the evidence inventory. Their digests, sorted, a line each, give the digest of the evidence set: <code>sort | sha256sum</code>.</li>
        <li><code>pagetrail report CASE scope --issue <xsl:value-of select="r:header/r:issue"/><xsl:if test="r:header/r:as-of"> --as-of <xsl:value-of select="r:header/r:as-of"/></xsl:if></code> writes this file and <code><xsl:value-of select="$file"/></code> again, byte for byte<xsl:if test="r:header/r:parameter or r:header/r:policy/@flag = 'entered-by-person'"> (with the parameters and the policy of the first page)</xsl:if>.</li>
        <li><code>pagetrail query CASE NAME --json</code> gives the rows of each table; the queries stand under Method.</li>
        <li><code>pagetrail show CASE S3@4096+180</code> prints the original bytes of a record.</li>
      </ol>
    </section>
  </xsl:template>
</xsl:stylesheet>
