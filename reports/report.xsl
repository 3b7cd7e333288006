<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- report.xsl - what all reports have in common: the page, its first lines, numbers, tables, figures, limits, blanks. A kind's own sheet
     imports this one and says what is its own. Shows the canonical XML and computes nothing -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:r="urn:pagetrail:report:1"
                exclude-result-prefixes="r">
  <xsl:param name="css"/>
  <xsl:output method="html" encoding="UTF-8" doctype-system="about:legacy-compat" indent="no"/>
  <xsl:strip-space elements="*"/>
  <xsl:key name="number" match="r:number" use="@id"/>
  <!-- names of queries and commands are for who has the case -->
  <xsl:variable name="inside" select="/r:report/r:header/r:audience = 'internal'"/>
  <xsl:variable name="stem"><xsl:value-of select="/r:report/@kind"/><xsl:for-each select="/r:report/@of">-<xsl:value-of select="."/></xsl:for-each><xsl:for-each select="/r:report/r:header/r:reference">-<xsl:value-of select="."/></xsl:for-each>-<xsl:value-of select="/r:report/r:header/r:issue"/></xsl:variable>
  <xsl:variable name="file" select="concat($stem, '.xml')"/>

  <!-- what a kind says itself -->
  <xsl:template name="title"/>
  <xsl:template name="marking">Internal</xsl:template>
  <xsl:template name="audience"/>
  <xsl:template name="nav-first"/>
  <xsl:template name="nav-last"/>
  <xsl:template name="first"/>
  <xsl:template name="in-section"/>
  <xsl:template name="beyond"/>
  <xsl:template name="last"/>
  <xsl:template name="foot"/>

  <!-- a count with thousands marks; the exact value for machines beside it -->
  <xsl:template name="count"><xsl:param name="value"/><data value="{$value}"><xsl:value-of select="format-number($value, '#,##0')"/></data></xsl:template>
  <xsl:template match="r:number">
    <xsl:choose>
      <xsl:when test="@band"><xsl:value-of select="@band"/></xsl:when>
      <xsl:otherwise><xsl:if test="@at-least">at least </xsl:if><xsl:call-template name="count"><xsl:with-param name="value" select="@value"/></xsl:call-template></xsl:otherwise>
    </xsl:choose>
  </xsl:template>
  <xsl:template name="n"><xsl:param name="id"/><xsl:apply-templates select="key('number', $id)"/></xsl:template>
  <!-- what agrees with a number before it: one is one, all others and bands are many -->
  <xsl:template name="s">
    <xsl:param name="id"/><xsl:param name="n" select="key('number', $id)/@value"/><xsl:param name="one"/><xsl:param name="many">s</xsl:param>
    <xsl:choose><xsl:when test="$n = 1"><xsl:value-of select="$one"/></xsl:when><xsl:otherwise><xsl:value-of select="$many"/></xsl:otherwise></xsl:choose>
  </xsl:template>
  <!-- a noun behind a share: "1 of 8 responses" -->
  <xsl:template name="of-s">
    <xsl:param name="id"/><xsl:variable name="n" select="key('number', $id)"/>
    <xsl:call-template name="s"><xsl:with-param name="n" select="($n/@of | $n[not(@of)]/@value)[1]"/></xsl:call-template>
  </xsl:template>
  <!-- a unit is written for many -->
  <xsl:template name="unit">
    <xsl:param name="n"/>
    <xsl:choose><xsl:when test="$n = 1"><xsl:value-of select="substring(@unit, 1, string-length(@unit) - 1)"/></xsl:when><xsl:otherwise><xsl:value-of select="@unit"/></xsl:otherwise></xsl:choose>
  </xsl:template>
  <!-- "126 of 8,398 (1.50 %)" -->
  <xsl:template name="share">
    <xsl:param name="id"/>
    <xsl:variable name="n" select="key('number', $id)"/>
    <xsl:apply-templates select="$n"/><xsl:if test="$n/@of"> of <xsl:call-template name="count"><xsl:with-param name="value" select="$n/@of"/></xsl:call-template></xsl:if>
    <xsl:if test="$n/@percent"> (<xsl:value-of select="$n/@percent"/>&#160;%)</xsl:if>
  </xsl:template>

  <!-- to the second in prose, exact in tables -->
  <xsl:template match="*" mode="time"><time datetime="{.}"><xsl:value-of select="substring(., 1, 10)"/>&#160;<xsl:value-of select="substring(., 12, 8)"/>Z</time></xsl:template>
  <xsl:template match="*" mode="exact"><time datetime="{.}"><xsl:value-of select="substring-before(., 'T')"/><xsl:text> </xsl:text><xsl:value-of select="substring-after(., 'T')"/></time></xsl:template>

  <xsl:template match="/r:report">
    <html lang="en">
      <head>
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"/>
        <meta name="viewport" content="width=device-width, initial-scale=1"/>
        <title><xsl:call-template name="title"/><xsl:if test="r:header/r:case-id">: <xsl:value-of select="r:header/r:case-id"/></xsl:if></title>
        <style><xsl:value-of select="$css" disable-output-escaping="yes"/></style>
      </head>
      <body class="{@kind}">
        <a class="skip" href="#main">Skip to the report</a>
        <xsl:apply-templates select="r:header"/>
        <nav aria-label="Sections">
          <ul>
            <xsl:call-template name="nav-first"/>
            <xsl:for-each select="r:section"><li><a href="#{@id}"><xsl:value-of select="@title"/></a></li></xsl:for-each>
            <xsl:if test="r:note"><li><a href="#note">Added by a person</a></li></xsl:if>
            <li><a href="#limits">Limits</a></li>
            <li><a href="#people">For people to complete</a></li>
            <xsl:call-template name="nav-last"/>
          </ul>
        </nav>
        <main id="main">
          <xsl:call-template name="first"/>
          <xsl:apply-templates select="r:section"/>
          <xsl:apply-templates select="r:note"/>
          <xsl:apply-templates select="r:limits"/>
          <xsl:apply-templates select="r:blanks"/>
          <xsl:call-template name="last"/>
        </main>
        <footer>Times are UTC. <xsl:call-template name="foot"/></footer>
      </body>
    </html>
  </xsl:template>

  <xsl:template match="r:header">
    <header>
      <p class="marks"><span class="mark"><xsl:call-template name="marking"/>, <xsl:value-of select="r:state"/></span>
        <xsl:if test="/r:report/r:blanks/@count &gt; 0"><a class="mark blank" href="#people"><xsl:value-of select="/r:report/r:blanks/@count"/> to be completed</a></xsl:if></p>
      <h1><xsl:call-template name="title"/></h1>
      <xsl:if test="r:case-title"><p class="title"><xsl:value-of select="r:case-title"/></p></xsl:if>
      <dl class="head">
        <xsl:if test="r:tenant"><dt>To</dt><dd><xsl:value-of select="r:tenant"/></dd></xsl:if>
        <xsl:if test="r:reference"><dt>Reference</dt><dd><code><xsl:value-of select="r:reference"/></code> (key <code><xsl:value-of select="r:key-id"/></code>)</dd></xsl:if>
        <xsl:if test="r:case-id"><dt>Case</dt><dd><xsl:value-of select="r:case-id"/></dd></xsl:if>
        <dt>Issue</dt><dd><xsl:value-of select="r:issue"/><xsl:if test="r:supersedes">, supersedes issue <xsl:value-of select="r:supersedes"/></xsl:if></dd>
        <xsl:if test="r:as-of"><dt>As of</dt><dd><xsl:apply-templates select="r:as-of" mode="time"/></dd></xsl:if>
        <dt>Audience</dt><dd><xsl:value-of select="r:audience"/><xsl:call-template name="audience"/></dd>
        <dt>Signature</dt><dd><xsl:value-of select="r:signature"/></dd>
        <dt>Made with</dt><dd><xsl:value-of select="r:tool"/></dd>
        <xsl:if test="$inside"><xsl:call-template name="basis"/></xsl:if>
      </dl>
    </header>
  </xsl:template>

  <xsl:template name="class">
    <xsl:param name="id"/><xsl:param name="words"/><xsl:param name="kind"/>
    <xsl:variable name="n" select="key('number', $id)"/>
    <li class="{$kind}"><strong><xsl:choose>
        <xsl:when test="$n/@band"><xsl:attribute name="class">band</xsl:attribute><xsl:value-of select="$n/@band"/></xsl:when>
        <xsl:otherwise><xsl:if test="$n/@at-least"><small>at least</small></xsl:if><xsl:call-template name="count"><xsl:with-param name="value" select="$n/@value"/></xsl:call-template></xsl:otherwise>
      </xsl:choose></strong><xsl:value-of select="concat($id, ' ', $words)"/>
      <xsl:if test="$n/@percent"><small><xsl:value-of select="$n/@percent"/>&#160;% of <xsl:call-template name="count"><xsl:with-param name="value" select="$n/@of"/></xsl:call-template></small></xsl:if></li>
  </xsl:template>

  <xsl:template match="r:section">
    <section id="{@id}" aria-labelledby="h-{@id}">
      <h2 id="h-{@id}"><xsl:value-of select="@title"/></h2>
      <p><xsl:value-of select="r:text"/></p>
      <xsl:call-template name="in-section"/>
      <xsl:apply-templates select="r:figure"/>
      <xsl:apply-templates select="r:table"/>
    </section>
  </xsl:template>

  <xsl:template match="r:note">
    <section id="note" aria-labelledby="h-note">
      <h2 id="h-note">Added by a person</h2>
      <p class="note">The words of a person, not computed from evidence.</p>
      <xsl:for-each select="r:line"><p><xsl:value-of select="."/></p></xsl:for-each>
    </section>
  </xsl:template>

  <xsl:template match="r:figure">
    <figure>
      <div class="scroll" tabindex="0" role="region" aria-label="{r:title} (figure)">
        <svg viewBox="0 0 {@width} {@height}" role="img" aria-labelledby="{@id}-t {@id}-d">
          <title id="{@id}-t"><xsl:value-of select="r:title"/></title>
          <desc id="{@id}-d"><xsl:value-of select="r:desc"/></desc>
          <xsl:for-each select="r:box">
            <rect class="{@kind}" x="{@x}" y="{@y}" width="{@width}" height="{@height}"><xsl:if test="text()"><title><xsl:value-of select="."/></title></xsl:if></rect>
          </xsl:for-each>
          <xsl:for-each select="r:label"><text x="{@x}" y="{@y}" text-anchor="{@anchor}"><xsl:value-of select="."/></text></xsl:for-each>
        </svg>
      </div>
      <figcaption><b><xsl:value-of select="r:title"/>.</b><xsl:text> </xsl:text>
        <xsl:for-each select="r:legend"><span class="key"><svg viewBox="0 0 12 12" aria-hidden="true"><rect class="{@kind}" x="1" y="1" width="10" height="10"/></svg><xsl:value-of select="."/></span></xsl:for-each>
        <xsl:value-of select="r:desc"/></figcaption>
    </figure>
  </xsl:template>

  <xsl:template match="r:table[not(r:row)]">
    <p class="empty">0 rows<xsl:if test="$inside and @query"> (query <code><xsl:value-of select="@query"/></code><xsl:if test="@classes">, classes <xsl:value-of select="@classes"/></xsl:if>)</xsl:if>: <xsl:value-of select="@empty-means"/>.</p>
  </xsl:template>

  <xsl:template match="r:table[r:row and @page-rows = 0]">
    <p class="empty">The list itself has <xsl:call-template name="count"><xsl:with-param name="value" select="@rows"/></xsl:call-template> row<xsl:call-template name="s"><xsl:with-param name="n" select="@rows"/></xsl:call-template> and is not printed here: see
      <code><xsl:value-of select="$file"/></code>, section '<xsl:value-of select="../@id"/>', or <code>pagetrail query CASE <xsl:value-of select="@query"/></code>.</p>
  </xsl:template>

  <xsl:template match="r:table">
    <xsl:variable name="columns" select="r:column[@shown = 'true']"/>
    <xsl:variable name="shown" select="count($columns)"/>
    <xsl:variable name="rows" select="@page-rows"/>
    <div class="scroll" tabindex="0" role="region" aria-label="{../@title}: {@title}">
      <table class="q-{@query}{substring('delta', 1, 5 * not(@query))}">
        <caption><xsl:call-template name="count"><xsl:with-param name="value" select="@rows"/></xsl:call-template> row<xsl:call-template name="s"><xsl:with-param name="n" select="@rows"/></xsl:call-template><xsl:if test="$rows &lt; @rows">, the first
          <xsl:call-template name="count"><xsl:with-param name="value" select="$rows"/></xsl:call-template> printed; more in <code><xsl:value-of select="$file"/></code></xsl:if><xsl:if test="$inside and @query">;
          query <code><xsl:value-of select="@query"/></code><xsl:if test="@classes">, classes <xsl:value-of select="@classes"/></xsl:if></xsl:if></caption>
        <thead><tr>
          <xsl:for-each select="$columns[@below = 'false']"><th scope="col" class="{@type} {@style}" title="{.}"><xsl:value-of select="@label"/></th></xsl:for-each>
        </tr></thead>
        <xsl:choose>
          <!-- long texts of a row go below it, over its full width -->
          <xsl:when test="$columns[@below = 'true']">
            <xsl:for-each select="r:row[position() &lt;= $rows]"><tbody>
              <tr><xsl:call-template name="cells"><xsl:with-param name="columns" select="$columns"/></xsl:call-template></tr>
              <tr class="more"><td colspan="{count($columns[@below = 'false'])}">
                <xsl:for-each select="r:cell[position() &lt;= $shown]">
                  <xsl:variable name="at" select="position()"/>
                  <xsl:variable name="column" select="$columns[$at]"/>
                  <xsl:if test="$column/@below = 'true'"><div class="{$column/@style}"><xsl:if test="$column/@style != 'refs'"><b><xsl:value-of select="$column/@label"/>:</b><xsl:text> </xsl:text></xsl:if><xsl:apply-templates select="." mode="cell"><xsl:with-param name="column" select="$column"/></xsl:apply-templates></div></xsl:if>
                </xsl:for-each></td></tr>
            </tbody></xsl:for-each>
          </xsl:when>
          <xsl:otherwise><tbody><xsl:for-each select="r:row[position() &lt;= $rows]">
            <tr><xsl:call-template name="cells"><xsl:with-param name="columns" select="$columns"/></xsl:call-template></tr>
          </xsl:for-each></tbody></xsl:otherwise>
        </xsl:choose>
      </table>
    </div>
  </xsl:template>

  <xsl:template name="cells">
    <xsl:param name="columns"/>
    <xsl:for-each select="r:cell[position() &lt;= count($columns)]">
      <xsl:variable name="at" select="position()"/>
      <xsl:variable name="column" select="$columns[$at]"/>
      <xsl:if test="$column/@below = 'false'"><td class="{$column/@type} {$column/@style}"><xsl:apply-templates select="." mode="cell"><xsl:with-param name="column" select="$column"/></xsl:apply-templates></td></xsl:if>
    </xsl:for-each>
  </xsl:template>

  <xsl:template match="r:cell[@unknown]" mode="cell"><span class="unknown">unknown</span></xsl:template>
  <xsl:template match="r:cell[@absent]" mode="cell"><span class="unknown">&#8211;</span></xsl:template>
  <xsl:template match="r:cell[r:item]" mode="cell">
    <xsl:param name="column"/>
    <xsl:choose>
      <xsl:when test="$column/@style = 'refs'"><details><summary><xsl:value-of select="count(r:item)"/> record<xsl:call-template name="s"><xsl:with-param name="n" select="count(r:item)"/></xsl:call-template></summary><xsl:for-each select="r:item"><xsl:value-of select="."/><xsl:text> </xsl:text></xsl:for-each></details></xsl:when>
      <xsl:otherwise><xsl:for-each select="r:item"><xsl:if test="@name"><xsl:value-of select="@name"/>=</xsl:if><xsl:value-of select="."/><xsl:if test="position() != last()"><xsl:if test="substring(., string-length()) != '.'">;</xsl:if><xsl:text> </xsl:text></xsl:if></xsl:for-each></xsl:otherwise>
    </xsl:choose>
  </xsl:template>
  <xsl:template match="r:cell" mode="cell">
    <xsl:param name="column"/>
    <xsl:choose>
      <xsl:when test="$column/@style = 'refs'">0 records</xsl:when>
      <xsl:when test="$column/@type = 'time'"><xsl:apply-templates select="." mode="exact"/></xsl:when>
      <xsl:when test="$column/@style = 'count'"><xsl:value-of select="format-number(., '#,##0')"/></xsl:when>
      <xsl:when test="$column/@style = 'code'"><xsl:value-of select="translate(., '_', ' ')"/></xsl:when>
      <xsl:when test="$column/@style = 'class'"><span class="badge {.}"><xsl:value-of select="."/></span></xsl:when>
      <xsl:otherwise><xsl:value-of select="."/></xsl:otherwise>
    </xsl:choose>
  </xsl:template>

  <xsl:template match="r:limits">
    <section id="limits" aria-labelledby="h-limits">
      <h2 id="h-limits">Limits</h2>
      <p>What the evidence takes away, counted. A count of 0 is printed too.</p>
      <ul>
        <xsl:for-each select="r:limit"><li><b><xsl:choose>
            <xsl:when test="@band"><xsl:value-of select="@band"/></xsl:when>
            <xsl:otherwise><xsl:call-template name="count"><xsl:with-param name="value" select="@count"/></xsl:call-template></xsl:otherwise>
          </xsl:choose></b>
          <xsl:if test="@of"> of <xsl:call-template name="count"><xsl:with-param name="value" select="@of"/></xsl:call-template></xsl:if>
          <xsl:text> </xsl:text><xsl:call-template name="unit"><xsl:with-param name="n" select="(@of | current()[not(@of)]/@count)[1]"/></xsl:call-template><xsl:text> </xsl:text><xsl:value-of select="."/>.</li></xsl:for-each>
      </ul>
      <xsl:call-template name="beyond"/>
    </section>
  </xsl:template>

  <xsl:template match="r:blanks">
    <section id="people" aria-labelledby="h-people">
      <h2 id="h-people">For people to complete</h2>
      <p>Entries that the program does not make: <xsl:value-of select="@count"/> open. An issue with open entries is a draft.</p>
      <dl class="people">
        <xsl:for-each select="r:blank"><dt><xsl:value-of select="@title"/></dt>
          <dd><xsl:apply-templates select="." mode="person"/></dd></xsl:for-each>
      </dl>
    </section>
  </xsl:template>

  <!-- what it all rests on: on the first page for the operator, at the end of a letter -->
  <xsl:template name="basis">
        <dt>Case content</dt><dd><code><xsl:value-of select="r:content-digest"/></code></dd>
        <dt>Evidence set</dt><dd><code><xsl:value-of select="r:evidence-digest"/></code></dd>
        <dt>Journal head</dt><dd><code><xsl:value-of select="r:journal-head"/></code></dd>
        <dt>Entered by a person</dt>
        <dd><xsl:choose>
          <xsl:when test="r:parameter"><xsl:for-each select="r:parameter"><xsl:value-of select="@name"/> = <xsl:value-of select="."/><xsl:if test="position() != last()">, </xsl:if></xsl:for-each></xsl:when>
          <xsl:otherwise>0 parameters</xsl:otherwise>
        </xsl:choose></dd>
        <xsl:if test="r:policy">
          <dt>Policy</dt>
          <dd><xsl:if test="string(r:policy)"><xsl:value-of select="r:policy"/>: </xsl:if><xsl:value-of select="r:policy/@id"/> (<xsl:choose><xsl:when test="r:policy/@flag = 'built-in'">built in</xsl:when><xsl:otherwise>given by a person</xsl:otherwise></xsl:choose>), sha256 <xsl:value-of select="r:policy/@sha256"/><xsl:if test="r:policy/@commits-sha256">; lists of commits, sha256 <xsl:value-of select="r:policy/@commits-sha256"/></xsl:if></dd>
        </xsl:if>
        <xsl:if test="r:inventory">
          <dt>Inventory</dt>
          <dd><xsl:value-of select="r:inventory"/> (given by a person), <xsl:value-of select="r:inventory/@replicas"/> replica<xsl:call-template name="s"><xsl:with-param name="n" select="r:inventory/@replicas"/></xsl:call-template>, sha256 <xsl:value-of select="r:inventory/@sha256"/></dd>
        </xsl:if>
  </xsl:template>
  <xsl:template name="basis-last"><dl class="head"><xsl:for-each select="/r:report/r:header"><xsl:call-template name="basis"/></xsl:for-each></dl></xsl:template>
  <!-- what a person said, or has to say -->
  <xsl:template match="*" mode="person">
    <xsl:choose>
      <xsl:when test="@state"><xsl:if test="@state = 'not-applicable'"><b>Does not apply:</b><xsl:text> </xsl:text></xsl:if><xsl:value-of select="."/>
        <span class="by"> (<xsl:value-of select="@by"/>, <xsl:value-of select="@on"/>)</span></xsl:when>
      <xsl:otherwise><span class="tbc">[TO BE COMPLETED: <xsl:value-of select="@id"/><xsl:value-of select="../@citation"/>]</span><xsl:text> </xsl:text><xsl:value-of select="."/></xsl:otherwise>
    </xsl:choose>
  </xsl:template>

  <!-- how a class comes about -->
  <xsl:template name="rules">
      <p>A response has five predicates, answered yes, no or unknown: T the trigger was met (prompt at or over the input limit of
        the prefill boot that served it, or a hand-off mismatch was seen), A an affected build and mode served it, L page lineage shows
        a foreign read, D at least one byte or token was delivered, X direct content evidence. The first rule that fits gives the class:</p>
      <div class="scroll" tabindex="0" role="region" aria-label="Rules"><table>
        <thead><tr><th scope="col">Order</th><th scope="col">Rule</th><th scope="col">Class</th></tr></thead>
        <tbody>
          <tr><td>1</td><td>X=yes, or L=yes and D=yes</td><td>C1 confirmed</td></tr>
          <tr><td>2</td><td>L=yes, D unknown</td><td>C2 probable</td></tr>
          <tr><td>3</td><td>D=no</td><td>C4 not affected</td></tr>
          <tr><td>4</td><td>L=no on a complete page log for this request</td><td>C4 not affected</td></tr>
          <tr><td>5</td><td>T=no or A=no, while the hypothesis stands</td><td>C4 not affected</td></tr>
          <tr><td>6</td><td>T=A=D=yes, L unknown</td><td>C2 probable</td></tr>
          <tr><td>7</td><td>T, D and L unknown</td><td>C5 could not be determined</td></tr>
          <tr><td>8</td><td>anything else</td><td>C3 possible</td></tr>
        </tbody></table></div>
      <p>Contradictions never fall below C2 and are listed as conflicts. E1 to E5 mirror the classes for requests on the exposed side.
        Grades: physical, page ids were logged; temporal, the request lived in the same pool before and is a candidate.</p>
  </xsl:template>
</xsl:stylesheet>
