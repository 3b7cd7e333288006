<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- scope.xsl - the scope report as one self-contained page; shows the canonical XML and computes nothing -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:r="urn:pagetrail:report:1"
                exclude-result-prefixes="r">
  <xsl:param name="css"/>
  <xsl:output method="html" encoding="UTF-8" doctype-system="about:legacy-compat" indent="no"/>
  <xsl:key name="number" match="r:number" use="@id"/>

  <xsl:template name="n"><xsl:param name="id"/><xsl:value-of select="key('number', $id)/@value"/></xsl:template>

  <xsl:template match="/r:report">
    <html lang="en">
      <head>
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"/>
        <meta name="viewport" content="width=device-width, initial-scale=1"/>
        <title>Scope of exposure<xsl:if test="r:header/r:case-id">: <xsl:value-of select="r:header/r:case-id"/></xsl:if></title>
        <style><xsl:value-of select="$css" disable-output-escaping="yes"/></style>
      </head>
      <body>
        <a class="skip" href="#main">Skip to the report</a>
        <header>
          <span class="mark">Internal, <xsl:value-of select="r:header/r:state"/></span>
          <h1>Scope of exposure</h1>
          <xsl:if test="r:header/r:case-title"><p><xsl:value-of select="r:header/r:case-title"/></p></xsl:if>
          <dl class="head">
            <xsl:if test="r:header/r:case-id"><dt>Case</dt><dd><xsl:value-of select="r:header/r:case-id"/></dd></xsl:if>
            <dt>Issue</dt><dd><xsl:value-of select="r:header/r:issue"/></dd>
            <xsl:if test="r:header/r:as-of"><dt>As of</dt><dd><xsl:apply-templates select="r:header/r:as-of" mode="time"/></dd></xsl:if>
            <dt>Audience</dt><dd><xsl:value-of select="r:header/r:audience"/>: names tenants and requests; not to be handed out</dd>
            <dt>Made with</dt><dd><xsl:value-of select="r:header/r:tool"/></dd>
            <dt>Content digest</dt><dd><xsl:value-of select="r:header/r:content-digest"/></dd>
            <dt>Journal head</dt><dd><xsl:value-of select="r:header/r:journal-head"/></dd>
          </dl>
        </header>
        <nav aria-label="Sections">
          <ul>
            <li><a href="#statement">Statement of scope</a></li>
            <xsl:for-each select="r:section"><li><a href="#{@id}"><xsl:value-of select="@title"/></a></li></xsl:for-each>
            <li><a href="#method">Method</a></li>
          </ul>
        </nav>
        <main id="main">
          <xsl:apply-templates select="r:numbers"/>
          <xsl:apply-templates select="r:section"/>
          <xsl:call-template name="method"/>
        </main>
        <footer>All times are UTC. The same case and arguments give this file byte for byte. Facts only: causes,
          consequences and whom to notify are for people to decide.</footer>
      </body>
    </html>
  </xsl:template>

  <xsl:template match="*" mode="time"><time datetime="{.}"><xsl:value-of select="."/></time></xsl:template>

  <xsl:template match="r:numbers">
    <section id="statement" aria-labelledby="h-statement">
      <h2 id="h-statement">Statement of scope</h2>
      <xsl:if test="r:trigger-stands = 'no' or r:build-stands = 'no'">
        <p class="warning">A confirmed response contradicts the assumed <xsl:if test="r:trigger-stands = 'no'">trigger</xsl:if>
          <xsl:if test="r:trigger-stands = 'no' and r:build-stands = 'no'"> and the assumed </xsl:if>
          <xsl:if test="r:build-stands = 'no'">affected builds</xsl:if>. That assumption excludes nothing in this report.</p>
      </xsl:if>
      <p class="statement">
        Of <b><xsl:call-template name="n"><xsl:with-param name="id">population</xsl:with-param></xsl:call-template></b> responses in the evidence<xsl:if test="r:population-first">
        (started from <xsl:apply-templates select="r:population-first" mode="time"/> to <xsl:apply-templates select="r:population-last" mode="time"/>)</xsl:if>,
        <b><xsl:call-template name="n"><xsl:with-param name="id">C1</xsl:with-param></xsl:call-template></b> are confirmed (C1),
        <b><xsl:call-template name="n"><xsl:with-param name="id">C2</xsl:with-param></xsl:call-template></b> probable (C2),
        <b><xsl:call-template name="n"><xsl:with-param name="id">C3</xsl:with-param></xsl:call-template></b> possible (C3), and
        <b><xsl:call-template name="n"><xsl:with-param name="id">C5</xsl:with-param></xsl:call-template></b> could not be determined (C5).
        <xsl:if test="r:affected-first">Confirmed and probable responses started from
        <xsl:apply-templates select="r:affected-first" mode="time"/> to <xsl:apply-templates select="r:affected-last" mode="time"/>; they went to
        <xsl:call-template name="n"><xsl:with-param name="id">affected_tenants</xsl:with-param></xsl:call-template> named tenants.
        <xsl:call-template name="n"><xsl:with-param name="id">affected_over_pool</xsl:with-param></xsl:call-template> had a prompt longer than the pool,
        <xsl:call-template name="n"><xsl:with-param name="id">affected_boundary</xsl:with-param></xsl:call-template> lay between the input limit and the pool.
        Another tenant's content is known to be read in
        <xsl:call-template name="n"><xsl:with-param name="id">affected_cross_tenant</xsl:with-param></xsl:call-template>, only the same tenant's in
        <xsl:call-template name="n"><xsl:with-param name="id">affected_same_tenant</xsl:with-param></xsl:call-template>; for the rest the owner is not known physically.</xsl:if>
        The evidence holds <xsl:call-template name="n"><xsl:with-param name="id">records</xsl:with-param></xsl:call-template> records from
        <xsl:call-template name="n"><xsl:with-param name="id">sources</xsl:with-param></xsl:call-template> sources, of which
        <xsl:call-template name="n"><xsl:with-param name="id">unparsed</xsl:with-param></xsl:call-template> could not be parsed, and
        <xsl:call-template name="n"><xsl:with-param name="id">gaps</xsl:with-param></xsl:call-template> known gaps.
      </p>
      <ul class="classes">
        <li class="c1"><strong><xsl:call-template name="n"><xsl:with-param name="id">C1</xsl:with-param></xsl:call-template></strong>C1 confirmed</li>
        <li class="c2"><strong><xsl:call-template name="n"><xsl:with-param name="id">C2</xsl:with-param></xsl:call-template></strong>C2 probable</li>
        <li class="c3"><strong><xsl:call-template name="n"><xsl:with-param name="id">C3</xsl:with-param></xsl:call-template></strong>C3 possible</li>
        <li class="c4"><strong><xsl:call-template name="n"><xsl:with-param name="id">C4</xsl:with-param></xsl:call-template></strong>C4 not affected</li>
        <li class="c5"><strong><xsl:call-template name="n"><xsl:with-param name="id">C5</xsl:with-param></xsl:call-template></strong>C5 could not be determined</li>
      </ul>
      <p>The five classes add up to the <xsl:call-template name="n"><xsl:with-param name="id">population</xsl:with-param></xsl:call-template> responses.
        Conflicts between sources: <xsl:call-template name="n"><xsl:with-param name="id">conflicts</xsl:with-param></xsl:call-template>.</p>
    </section>
  </xsl:template>

  <xsl:template match="r:section">
    <section id="{@id}" aria-labelledby="h-{@id}">
      <h2 id="h-{@id}"><xsl:value-of select="@title"/></h2>
      <p><xsl:value-of select="r:text"/></p>
      <xsl:apply-templates select="r:table"/>
    </section>
  </xsl:template>

  <xsl:template match="r:table[not(r:row)]">
    <p class="empty">0 rows. <xsl:value-of select="@empty-means"/></p>
  </xsl:template>

  <xsl:template match="r:table">
    <xsl:variable name="columns" select="r:column"/>
    <div class="scroll" tabindex="0" role="region" aria-label="{../@title}">
      <table>
        <caption><xsl:value-of select="@rows"/> rows<xsl:if test="@truncated = 'true'">, of which the first <xsl:value-of select="count(r:row)"/> are shown;
          'pagetrail query' gives all</xsl:if>; query <xsl:value-of select="@query"/></caption>
        <thead><tr>
          <xsl:for-each select="r:column[@shown = 'true']">
            <th scope="col" class="{@type}" title="{.}"><xsl:value-of select="translate(@name, '_', ' ')"/></th>
          </xsl:for-each>
        </tr></thead>
        <tbody>
          <xsl:for-each select="r:row">
            <tr>
              <xsl:for-each select="r:cell">
                <xsl:variable name="at" select="position()"/>
                <xsl:variable name="column" select="$columns[$at]"/>
                <xsl:if test="$column/@shown = 'true'"><td class="{$column/@type}"><xsl:apply-templates select="." mode="cell"><xsl:with-param name="type" select="$column/@type"/></xsl:apply-templates></td></xsl:if>
              </xsl:for-each>
            </tr>
          </xsl:for-each>
        </tbody>
      </table>
    </div>
  </xsl:template>

  <xsl:template match="r:cell[@unknown]" mode="cell"><span class="unknown">unknown</span></xsl:template>
  <xsl:template match="r:cell[r:item]" mode="cell">
    <xsl:for-each select="r:item"><span><xsl:if test="@name"><xsl:value-of select="@name"/>=</xsl:if><xsl:value-of select="."/></span></xsl:for-each>
  </xsl:template>
  <xsl:template match="r:cell" mode="cell">
    <xsl:param name="type"/>
    <xsl:choose>
      <xsl:when test="$type = 'time'"><xsl:apply-templates select="." mode="time"/></xsl:when>
      <xsl:otherwise><xsl:value-of select="."/></xsl:otherwise>
    </xsl:choose>
  </xsl:template>

  <xsl:template name="method">
    <section id="method" aria-labelledby="h-method">
      <h2 id="h-method">Method</h2>
      <p>For each response five predicates are answered yes, no or unknown: T the trigger was met (prompt at or over the input limit of
        the prefill boot that served it, or a hand-off mismatch was seen), A an affected build and mode served it, L page lineage shows
        a foreign read, D at least one byte or token was delivered, X direct content evidence. The first rule that fits gives the class:</p>
      <div class="scroll" tabindex="0" role="region" aria-label="Rules"><table>
        <thead><tr><th scope="col">rule</th><th scope="col">class</th></tr></thead>
        <tbody>
          <tr><td>X=yes, or L=yes and D=yes</td><td>C1 confirmed</td></tr>
          <tr><td>L=yes, D unknown</td><td>C2 probable</td></tr>
          <tr><td>D=no</td><td>C4 not affected</td></tr>
          <tr><td>L=no on a complete page log for this request</td><td>C4 not affected</td></tr>
          <tr><td>T=no or A=no, while the hypothesis stands</td><td>C4 not affected</td></tr>
          <tr><td>T=A=D=yes, L unknown</td><td>C2 probable</td></tr>
          <tr><td>T, D and L all unknown</td><td>C5 could not be determined</td></tr>
          <tr><td>anything else</td><td>C3 possible</td></tr>
        </tbody></table></div>
      <p>Contradictions never fall below C2 and are listed as conflicts. References such as S3@4096+180 point at original bytes:
        'pagetrail show CASE REF' prints them.</p>
    </section>
  </xsl:template>
</xsl:stylesheet>
