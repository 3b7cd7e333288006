<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- worksheet.xsl - what each duty to notify asks for -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:r="urn:pagetrail:report:1"
                exclude-result-prefixes="r">
  <xsl:import href="report.xsl"/>

  <xsl:template name="title">Worksheet for notifications</xsl:template>
  <xsl:template name="audience">: names tenants; a drafting aid for who notifies, not to be handed out</xsl:template>
  <xsl:template name="nav-first"><xsl:for-each select="r:regime"><li><a href="#{@id}"><xsl:value-of select="@title"/></a></li></xsl:for-each><xsl:if test="r:sample"><li><a href="#samples">Samples that people drew</a></li></xsl:if></xsl:template>
  <xsl:template name="first">
    <section id="duties" aria-labelledby="h-duties">
      <h2 id="h-duties">Duties in this worksheet</h2>
      <p class="warning">Written by engineers from data; no lawyer has read it. Whether a duty applies, and when its clock started, is decided by a person.
        Periods in days and months end with the last hour of their last day; one that ends on a day off is not carried on.</p>
      <div class="scroll" tabindex="0" role="region" aria-label="Duties"><table>
        <thead><tr><th scope="col">Duty</th><th scope="col">Due</th><th scope="col" class="num">Fields</th><th scope="col" class="num">With facts</th><th scope="col" class="num">Answered</th><th scope="col" class="num">Not applicable</th><th scope="col" class="num">Open</th></tr></thead>
        <tbody><xsl:for-each select="r:regime"><tr>
          <th scope="row"><a href="#{@id}"><xsl:value-of select="@title"/></a></th>
          <td><xsl:for-each select="r:due[@at]"><xsl:sort select="@at"/><xsl:if test="position() = 1"><xsl:apply-templates select="@at" mode="at"/></xsl:if></xsl:for-each>
            <xsl:if test="r:due and not(r:due[@at])"><xsl:choose><xsl:when test="r:clock[not(@at) and not(@never)]">clock not entered</xsl:when><xsl:otherwise>does not apply</xsl:otherwise></xsl:choose></xsl:if><xsl:if test="not(r:due)">no period</xsl:if></td>
          <td class="num"><xsl:value-of select="@fields"/></td><td class="num"><xsl:value-of select="@said"/></td><td class="num"><xsl:value-of select="@answered"/></td>
          <td class="num"><xsl:value-of select="@not-applicable"/></td><td class="num"><xsl:value-of select="@open"/></td></tr></xsl:for-each></tbody>
      </table></div>
    </section>
    <xsl:apply-templates select="r:regime"/>
    <xsl:if test="r:sample">
      <section id="samples" aria-labelledby="h-samples">
        <h2 id="h-samples">Samples that people drew</h2>
        <p>Entered by a person, and true of a sample that was drawn at random from a list of the whole. Records that logs lost are no sample: they are lost under load.
          Both are exact (hypergeometric): the interval, in percent and as numbers, is two-sided; the number after it is one-sided.</p>
        <dl class="people stacked"><xsl:for-each select="r:sample">
          <dt><xsl:value-of select="@id"/>: <xsl:call-template name="count"><xsl:with-param name="value" select="@hits"/></xsl:call-template> of <xsl:call-template name="count"><xsl:with-param name="value" select="@drawn"/></xsl:call-template><xsl:text> </xsl:text><xsl:value-of select="@unit"/> drawn, from a population of <xsl:call-template name="count"><xsl:with-param name="value" select="@population"/></xsl:call-template></dt>
          <dd>Estimated: <xsl:value-of select="@low"/> % to <xsl:value-of select="@high"/> % of <xsl:call-template name="count"><xsl:with-param name="value" select="@population"/></xsl:call-template><xsl:text> </xsl:text><xsl:value-of select="@unit"/> (<xsl:call-template name="count"><xsl:with-param name="value" select="@least"/></xsl:call-template> to <xsl:call-template name="count"><xsl:with-param name="value" select="@most"/></xsl:call-template>), at most <xsl:call-template name="count"><xsl:with-param name="value" select="@at-most"/></xsl:call-template>, at <xsl:value-of select="@confidence"/> % confidence each</dd>
          <dd><xsl:value-of select="."/><span class="by"> (<xsl:value-of select="@by"/>, <time datetime="{@on}"><xsl:value-of select="@on"/></time>)</span></dd></xsl:for-each></dl>
      </section>
    </xsl:if>
  </xsl:template>
  <xsl:template name="foot">This paper states facts; causes, consequences and whom to notify are for people to decide.</xsl:template>
  <xsl:template name="beyond">
    <p>Beyond what can be counted: logs that nobody collected; what recipients read, kept or forwarded; whose personal data prompts
      held. The number of people behind a tenant is not in the logs.</p>
  </xsl:template>

  <xsl:template match="@at" mode="at"><time datetime="{.}"><xsl:value-of select="substring(., 1, 10)"/>&#160;<xsl:value-of select="substring(., 12, 8)"/>Z</time></xsl:template>

  <xsl:template match="r:regime">
    <section id="{@id}" aria-labelledby="h-{@id}">
      <h2 id="h-{@id}"><xsl:value-of select="@title"/></h2>
      <p><xsl:value-of select="@law"/>; <xsl:value-of select="@status"/>. This row of the table is of <time datetime="{@as-of}"><xsl:value-of select="@as-of"/></time>, and rests on
        <xsl:choose><xsl:when test="@basis = 'text'">the text</xsl:when><xsl:when test="@basis = 'secondary'">what others write of it</xsl:when><xsl:otherwise>memory: check it</xsl:otherwise></xsl:choose>
        (<xsl:value-of select="@source"/>).</p>
      <xsl:if test="r:clock">
        <h3>Clocks</h3>
        <dl class="people stacked"><xsl:for-each select="r:clock">
          <dt><xsl:value-of select="@citation"/>: <xsl:value-of select="."/></dt>
          <dd><xsl:choose><xsl:when test="@at"><xsl:apply-templates select="@at" mode="at"/>: <xsl:value-of select="@reason"/><span class="by"> (<xsl:value-of select="@by"/>)</span></xsl:when>
            <xsl:when test="@never"><b>Does not start:</b><xsl:text> </xsl:text><xsl:value-of select="@never"/><span class="by"> (<xsl:value-of select="@by"/>)</span></xsl:when>
            <xsl:otherwise><span class="tbc">[TO BE COMPLETED: start of '<xsl:value-of select="@id"/>', with its reason]</span></xsl:otherwise></xsl:choose></dd></xsl:for-each></dl>
      </xsl:if>
      <xsl:if test="r:due">
        <h3>Due</h3>
        <dl class="people stacked"><xsl:for-each select="r:due">
          <dt><xsl:value-of select="@citation"/>: <xsl:value-of select="@within"/> from '<xsl:value-of select="@from"/>'</dt>
          <dd><xsl:choose><xsl:when test="@at">before <xsl:apply-templates select="@at" mode="at"/>: </xsl:when><xsl:otherwise>its clock is not entered: </xsl:otherwise></xsl:choose><xsl:value-of select="."/></dd></xsl:for-each></dl>
      </xsl:if>
      <h3>What it asks for</h3>
      <dl class="people stacked"><xsl:for-each select="r:field">
        <dt><xsl:value-of select="@citation"/>: <xsl:value-of select="@title"/></dt>
        <xsl:if test="r:value"><dd><ul><xsl:for-each select="r:value"><xsl:apply-templates select="."/></xsl:for-each></ul></dd></xsl:if>
        <xsl:for-each select="r:person"><dd><xsl:apply-templates select="." mode="person"/></dd></xsl:for-each></xsl:for-each></dl>
    </section>
  </xsl:template>

  <xsl:template match="r:value[@number]">
    <xsl:variable name="n" select="key('number', @number)"/>
    <xsl:if test="$n"><li><xsl:call-template name="words"><xsl:with-param name="id" select="@number"/></xsl:call-template>: <xsl:call-template name="share"><xsl:with-param name="id" select="@number"/></xsl:call-template><xsl:text> </xsl:text>
      <xsl:for-each select="$n"><xsl:call-template name="unit"><xsl:with-param name="n" select="(@of | current()[not(@of)]/@value)[1]"/></xsl:call-template></xsl:for-each> (<xsl:value-of select="translate($n/@flag, '-', ' ')"/>)</li></xsl:if>
  </xsl:template>
  <xsl:template match="r:value[@time]">
    <xsl:variable name="t" select="/r:report/r:numbers/*[local-name() = current()/@time]"/>
    <li><xsl:call-template name="words"><xsl:with-param name="id" select="@time"/></xsl:call-template>: <xsl:choose><xsl:when test="$t"><xsl:apply-templates select="$t" mode="time"/></xsl:when><xsl:otherwise>not known</xsl:otherwise></xsl:choose></li>
  </xsl:template>

  <!-- numbers by their names for people -->
  <xsl:template name="words">
    <xsl:param name="id"/>
    <xsl:choose>
      <xsl:when test="$id = 'population'">Responses in the evidence</xsl:when>
      <xsl:when test="$id = 'C1'">Responses, C1 confirmed</xsl:when><xsl:when test="$id = 'C2'">Responses, C2 probable</xsl:when>
      <xsl:when test="$id = 'C3'">Responses, C3 possible</xsl:when><xsl:when test="$id = 'C5'">Responses, C5 could not be determined</xsl:when>
      <xsl:when test="$id = 'affected'">Responses, C1 and C2</xsl:when><xsl:when test="$id = 'affected_at_most'">Responses, at most (C1, C2, C3, C5)</xsl:when>
      <xsl:when test="$id = 'affected_cross_tenant'">Another tenant's content known to be read</xsl:when>
      <xsl:when test="$id = 'affected_owner_unknown'">Owner of the content not known</xsl:when>
      <xsl:when test="$id = 'affected_over_pool'">Prompt longer than the pool</xsl:when><xsl:when test="$id = 'affected_boundary'">Prompt between input limit and pool</xsl:when>
      <xsl:when test="$id = 'affected_tenants'">Tenants that received C1 or C2</xsl:when><xsl:when test="$id = 'limit_least'">Condition: a prompt of at least</xsl:when>
      <xsl:when test="$id = 'owners'">Requests in the evidence</xsl:when>
      <xsl:when test="$id = 'E1'">Requests, E1 confirmed</xsl:when><xsl:when test="$id = 'E2'">Requests, E2 probable</xsl:when>
      <xsl:when test="$id = 'E3'">Requests, E3 possible</xsl:when><xsl:when test="$id = 'E5'">Requests, E5 could not be determined</xsl:when>
      <xsl:when test="$id = 'exposed_tenants'">Tenants of E1 or E2</xsl:when><xsl:when test="$id = 'candidate_tenants'">Tenants of E3 or E5</xsl:when>
      <xsl:when test="$id = 'records'">Records read</xsl:when><xsl:when test="$id = 'unparsed'">Records not understood</xsl:when>
      <xsl:when test="$id = 'sources'">Sources</xsl:when><xsl:when test="$id = 'sources_unread'">Sources not read to their end</xsl:when>
      <xsl:when test="$id = 'gaps'">Gaps known</xsl:when><xsl:when test="$id = 'window_s'">Window</xsl:when><xsl:when test="$id = 'seen_s'">Of it, spanned by logs</xsl:when>
      <xsl:when test="$id = 'searchable'">Responses that signs were searched in</xsl:when><xsl:when test="$id = 'd_known'">Delivery known</xsl:when>
      <xsl:when test="$id = 'workers'">Workers</xsl:when><xsl:when test="$id = 'clocks'">Clocks judged</xsl:when><xsl:when test="$id = 'clocks_unbounded'">Clocks without a bound</xsl:when>
      <xsl:when test="$id = 'affected-first'">First affected response began</xsl:when><xsl:when test="$id = 'affected-last'">Last affected response began</xsl:when>
      <xsl:when test="$id = 'exposed-first'">Content read can date back to</xsl:when>
      <xsl:when test="$id = 'population-first'">First response in the evidence</xsl:when><xsl:when test="$id = 'population-last'">Last response in the evidence</xsl:when>
      <xsl:otherwise><xsl:value-of select="translate($id, '_-', '  ')"/></xsl:otherwise>
    </xsl:choose>
  </xsl:template>
</xsl:stylesheet>
