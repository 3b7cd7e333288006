<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- delta.xsl - two issues of one report: what came, what went, what changed -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:r="urn:pagetrail:report:1"
                exclude-result-prefixes="r">
  <xsl:import href="report.xsl"/>

  <xsl:variable name="before" select="/r:report/r:header/r:before"/>
  <xsl:variable name="issues">issue <xsl:value-of select="/r:report/r:header/r:issue"/> against issue <xsl:value-of select="$before/@issue"/></xsl:variable>
  <xsl:variable name="of"><xsl:choose>
      <xsl:when test="/r:report/@of = 'scope'">the scope of exposure</xsl:when>
      <xsl:when test="/r:report/@of = 'deploy'">the deployment of the fix</xsl:when>
      <xsl:when test="/r:report/@of = 'worksheet'">the worksheet for notifications</xsl:when>
      <xsl:when test="/r:report/@of = 'public'">the public report</xsl:when>
      <xsl:otherwise>a notice (<xsl:value-of select="/r:report/@of"/>)</xsl:otherwise></xsl:choose></xsl:variable>

  <xsl:template name="title">Differences of two issues: <xsl:value-of select="$of"/>, <xsl:value-of select="$issues"/></xsl:template>
  <xsl:template name="marking"><xsl:choose>
      <xsl:when test="$inside">Internal</xsl:when>
      <xsl:when test="/r:report/@of = 'public'">Public</xsl:when>
      <xsl:otherwise>Confidential</xsl:otherwise></xsl:choose></xsl:template>
  <xsl:template name="audience"><xsl:choose>
      <xsl:when test="$inside">: names what the report names; not to be handed out</xsl:when>
      <xsl:when test="/r:report/@of = 'public'"/>
      <xsl:otherwise>: to the addressee</xsl:otherwise></xsl:choose></xsl:template>
  <xsl:template name="nav-first"><li><a href="#statement">Statement</a></li></xsl:template>
  <xsl:template name="nav-last"><li><a href="#method">Method</a></li></xsl:template>
  <xsl:template name="first"><xsl:apply-templates select="r:numbers"/></xsl:template>
  <xsl:template name="last"><xsl:call-template name="method"/></xsl:template>
  <xsl:template name="foot">This paper states what two documents say; why they differ is for people to decide where the case does not tell.</xsl:template>
  <xsl:template name="beyond">
    <p>Beyond what can be counted: what the earlier issue did not say. That two issues say the same does not make either of them complete.</p>
  </xsl:template>

  <xsl:template match="@as-of" mode="time"><time datetime="{.}"><xsl:value-of select="substring(., 1, 10)"/>&#160;<xsl:value-of select="substring(., 12, 8)"/>Z</time></xsl:template>

  <xsl:template name="tile">
    <xsl:param name="id"/><xsl:param name="words"/><xsl:param name="kind"/>
    <xsl:variable name="n" select="key('number', $id)"/>
    <li class="{$kind}"><strong><xsl:call-template name="count"><xsl:with-param name="value" select="$n/@value"/></xsl:call-template></strong><xsl:value-of select="$words"/>
      <small>of <xsl:call-template name="count"><xsl:with-param name="value" select="$n/@of"/></xsl:call-template> fact<xsl:call-template name="s"><xsl:with-param name="n" select="$n/@of"/></xsl:call-template></small></li>
  </xsl:template>

  <xsl:template match="r:numbers">
    <section id="statement" aria-labelledby="h-statement">
      <h2 id="h-statement">Statement</h2>
      <div class="statement">
        <p><xsl:choose>
            <xsl:when test="key('number', 'differences')/@value = 0"><b>No difference in <xsl:call-template name="n"><xsl:with-param name="id">facts</xsl:with-param></xsl:call-template> fact<xsl:call-template name="s"><xsl:with-param name="id">facts</xsl:with-param></xsl:call-template></b>
              of <xsl:value-of select="$of"/>, <xsl:value-of select="$issues"/>.</xsl:when>
            <xsl:otherwise><b><xsl:call-template name="n"><xsl:with-param name="id">differences</xsl:with-param></xsl:call-template> of
                <xsl:call-template name="n"><xsl:with-param name="id">facts</xsl:with-param></xsl:call-template></b> fact<xsl:call-template name="s"><xsl:with-param name="id">facts</xsl:with-param></xsl:call-template> of <xsl:value-of select="$of"/> differ<xsl:call-template name="s"><xsl:with-param name="id">differences</xsl:with-param><xsl:with-param name="one">s</xsl:with-param><xsl:with-param name="many"></xsl:with-param></xsl:call-template>, <xsl:value-of select="$issues"/>:
              <xsl:call-template name="n"><xsl:with-param name="id">changed</xsl:with-param></xsl:call-template> changed,
              <xsl:call-template name="n"><xsl:with-param name="id">came</xsl:with-param></xsl:call-template> came,
              <xsl:call-template name="n"><xsl:with-param name="id">went</xsl:with-param></xsl:call-template> went.</xsl:otherwise></xsl:choose>
          A fact is a number, a time, a limit, a blank, a part of a duty, or a row of a table.</p>
        <p><b>Basis:</b><xsl:text> </xsl:text><xsl:call-template name="n"><xsl:with-param name="id">basis_changed</xsl:with-param></xsl:call-template> item<xsl:call-template name="s"><xsl:with-param name="id">basis_changed</xsl:with-param></xsl:call-template> of what stands behind the two issues changed<xsl:choose>
            <xsl:when test="key('number', 'basis_changed')/@value = 0 and key('number', 'differences')/@value &gt; 0">: why facts differ, the case does not say.</xsl:when>
            <xsl:otherwise>.</xsl:otherwise></xsl:choose>
          <xsl:choose>
            <xsl:when test="$before/@in-journal = 'yes'"> The journal of the case has the entry that the earlier issue ended with: it is the same case, continued.</xsl:when>
            <xsl:otherwise> The journal of the case has no entry that the earlier issue ended with: the case was built anew under the same id.</xsl:otherwise></xsl:choose></p>
        <p><b>Earlier issue:</b> number <xsl:value-of select="$before/@issue"/><xsl:if test="$before/@as-of">, as of <xsl:apply-templates select="$before/@as-of" mode="time"/></xsl:if>,
          made with <xsl:value-of select="$before/@tool"/>; SHA-256 of its file <code><xsl:value-of select="$before/@sha256"/></code>.
          <xsl:if test="/r:report/r:header/r:as-of">This issue: as of <xsl:apply-templates select="/r:report/r:header/r:as-of" mode="time"/>, number <xsl:value-of select="/r:report/r:header/r:issue"/>.</xsl:if></p>
      </div>
      <ul class="classes">
        <xsl:call-template name="tile"><xsl:with-param name="id">changed</xsl:with-param><xsl:with-param name="words">changed</xsl:with-param><xsl:with-param name="kind">c2</xsl:with-param></xsl:call-template>
        <xsl:call-template name="tile"><xsl:with-param name="id">came</xsl:with-param><xsl:with-param name="words">came</xsl:with-param><xsl:with-param name="kind">c1</xsl:with-param></xsl:call-template>
        <xsl:call-template name="tile"><xsl:with-param name="id">went</xsl:with-param><xsl:with-param name="words">went</xsl:with-param><xsl:with-param name="kind">c3</xsl:with-param></xsl:call-template>
        <xsl:call-template name="tile"><xsl:with-param name="id">same</xsl:with-param><xsl:with-param name="words">the same</xsl:with-param><xsl:with-param name="kind">c4</xsl:with-param></xsl:call-template>
      </ul>
    </section>
  </xsl:template>

  <xsl:template name="method">
    <section id="method" aria-labelledby="h-method">
      <h2 id="h-method">Method</h2>
      <p>The earlier issue was read from its file and held against the schema of reports. The same report was made anew from the case, with the arguments of this
        issue, and both were taken apart into facts. A fact is found again by its id, a row by what it is about; rows of one name are held against each other in the
        order of what they say. What both say alike is the same; columns that one issue has and the other not are left out.</p>
      <p>Numbers are printed as they stood and as they stand. Figures, words of the form, and a person's note are not compared.</p>
    </section>
  </xsl:template>
</xsl:stylesheet>
