<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- scope.xsl - the scope report as one self-contained page; shows the canonical XML and computes nothing -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:r="urn:pagetrail:report:1"
                exclude-result-prefixes="r">
  <xsl:param name="css"/>
  <xsl:output method="html" encoding="UTF-8" doctype-system="about:legacy-compat" indent="no"/>
  <xsl:strip-space elements="*"/>
  <xsl:key name="number" match="r:number" use="@id"/>
  <xsl:variable name="file" select="concat(/r:report/@kind, '-', /r:report/r:header/r:issue, '.xml')"/>

  <!-- a count with thousands marks; the exact value for machines beside it -->
  <xsl:template name="count"><xsl:param name="value"/><data value="{$value}"><xsl:value-of select="format-number($value, '#,##0')"/></data></xsl:template>
  <xsl:template match="r:number"><xsl:if test="@at-least">at least </xsl:if><xsl:call-template name="count"><xsl:with-param name="value" select="@value"/></xsl:call-template></xsl:template>
  <xsl:template name="n"><xsl:param name="id"/><xsl:apply-templates select="key('number', $id)"/></xsl:template>
  <!-- "126 of 8,398 (1.50 %)" -->
  <xsl:template name="share">
    <xsl:param name="id"/>
    <xsl:variable name="n" select="key('number', $id)"/>
    <xsl:apply-templates select="$n"/> of <xsl:call-template name="count"><xsl:with-param name="value" select="$n/@of"/></xsl:call-template>
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
        <title>Scope of exposure<xsl:if test="r:header/r:case-id">: <xsl:value-of select="r:header/r:case-id"/></xsl:if></title>
        <style><xsl:value-of select="$css" disable-output-escaping="yes"/></style>
      </head>
      <body>
        <a class="skip" href="#main">Skip to the report</a>
        <xsl:apply-templates select="r:header"/>
        <nav aria-label="Sections">
          <ul>
            <li><a href="#statement">Statement of scope</a></li>
            <xsl:for-each select="r:section"><li><a href="#{@id}"><xsl:value-of select="@title"/></a></li></xsl:for-each>
            <li><a href="#limits">Limits</a></li>
            <li><a href="#people">For people to complete</a></li>
            <li><a href="#method">Method</a></li>
            <li><a href="#verify">How to verify</a></li>
          </ul>
        </nav>
        <main id="main">
          <xsl:apply-templates select="r:numbers"/>
          <xsl:apply-templates select="r:section"/>
          <xsl:apply-templates select="r:limits"/>
          <xsl:apply-templates select="r:blanks"/>
          <xsl:call-template name="method"/>
          <xsl:call-template name="verify"/>
        </main>
        <footer>Times are UTC. The same case and arguments give this file byte for byte. This paper states facts; causes,
          consequences and whom to notify are for people to decide.</footer>
      </body>
    </html>
  </xsl:template>

  <xsl:template match="r:header">
    <header>
      <p class="marks"><span class="mark">Internal, <xsl:value-of select="r:state"/></span>
        <xsl:if test="/r:report/r:blanks/@count &gt; 0"><a class="mark blank" href="#people"><xsl:value-of select="/r:report/r:blanks/@count"/> to be completed</a></xsl:if></p>
      <h1>Scope of exposure</h1>
      <xsl:if test="r:case-title"><p class="title"><xsl:value-of select="r:case-title"/></p></xsl:if>
      <dl class="head">
        <xsl:if test="r:case-id"><dt>Case</dt><dd><xsl:value-of select="r:case-id"/></dd></xsl:if>
        <dt>Issue</dt><dd><xsl:value-of select="r:issue"/><xsl:if test="r:supersedes">, supersedes issue <xsl:value-of select="r:supersedes"/></xsl:if></dd>
        <xsl:if test="r:as-of"><dt>As of</dt><dd><xsl:apply-templates select="r:as-of" mode="time"/></dd></xsl:if>
        <dt>Audience</dt><dd><xsl:value-of select="r:audience"/>: names tenants and requests; not to be handed out</dd>
        <dt>Signature</dt><dd><xsl:value-of select="r:signature"/></dd>
        <dt>Made with</dt><dd><xsl:value-of select="r:tool"/></dd>
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
          <dd><xsl:value-of select="r:policy"/>: <xsl:value-of select="r:policy/@id"/> (<xsl:choose><xsl:when test="r:policy/@flag = 'built-in'">built in</xsl:when><xsl:otherwise>given by a person</xsl:otherwise></xsl:choose>), sha256 <xsl:value-of select="r:policy/@sha256"/><xsl:if test="r:policy/@commits-sha256">; lists of commits, sha256 <xsl:value-of select="r:policy/@commits-sha256"/></xsl:if></dd>
        </xsl:if>
      </dl>
    </header>
  </xsl:template>

  <xsl:template name="class">
    <xsl:param name="id"/><xsl:param name="words"/><xsl:param name="kind"/>
    <xsl:variable name="n" select="key('number', $id)"/>
    <li class="{$kind}"><strong><xsl:if test="$n/@at-least"><small>at least</small></xsl:if><xsl:call-template name="count"><xsl:with-param name="value" select="$n/@value"/></xsl:call-template></strong><xsl:value-of select="concat($id, ' ', $words)"/>
      <xsl:if test="$n/@percent"><small><xsl:value-of select="$n/@percent"/>&#160;% of <xsl:call-template name="count"><xsl:with-param name="value" select="$n/@of"/></xsl:call-template></small></xsl:if></li>
  </xsl:template>

  <xsl:template match="r:numbers">
    <section id="statement" aria-labelledby="h-statement">
      <h2 id="h-statement">Statement of scope</h2>
      <xsl:if test="r:trigger-stands = 'no' or r:build-stands = 'no'">
        <p class="warning">A confirmed response contradicts the assumed <xsl:if test="r:trigger-stands = 'no'">trigger</xsl:if>
          <xsl:if test="r:trigger-stands = 'no' and r:build-stands = 'no'"> and the assumed </xsl:if>
          <xsl:if test="r:build-stands = 'no'">affected builds</xsl:if>. That assumption excludes nothing in this report.</p>
      </xsl:if>
      <div class="statement">
        <p>Of <b><xsl:call-template name="n"><xsl:with-param name="id">population</xsl:with-param></xsl:call-template></b> responses in the evidence<xsl:if test="r:population-first">,
          started from <xsl:apply-templates select="r:population-first" mode="time"/> until before <xsl:apply-templates select="r:population-before" mode="time"/></xsl:if>,
          <b><xsl:call-template name="n"><xsl:with-param name="id">C1</xsl:with-param></xsl:call-template></b> are confirmed (C1),
          <b><xsl:call-template name="n"><xsl:with-param name="id">C2</xsl:with-param></xsl:call-template></b> probable (C2),
          <b><xsl:call-template name="n"><xsl:with-param name="id">C3</xsl:with-param></xsl:call-template></b> possible (C3), and
          <b><xsl:call-template name="n"><xsl:with-param name="id">C5</xsl:with-param></xsl:call-template></b> could not be determined (C5).
          At most <xsl:call-template name="share"><xsl:with-param name="id">affected_at_most</xsl:with-param></xsl:call-template> of the responses seen are affected;
          responses that no log holds are not in these numbers.</p>
        <xsl:if test="r:affected-first">
          <p><b>Recipient window:</b> confirmed and probable responses started from
            <xsl:apply-templates select="r:affected-first" mode="time"/> until before <xsl:apply-templates select="r:affected-before" mode="time"/>. They went to
            <xsl:call-template name="n"><xsl:with-param name="id">affected_tenants</xsl:with-param></xsl:call-template> named tenants.
            <xsl:call-template name="share"><xsl:with-param name="id">affected_over_pool</xsl:with-param></xsl:call-template> had a prompt longer than the pool,
            <xsl:call-template name="share"><xsl:with-param name="id">affected_boundary</xsl:with-param></xsl:call-template> lay between the input limit and the pool.</p>
        </xsl:if>
        <p><b>Exposed side:</b> pages keep their content until they are overwritten<xsl:if test="r:affected-first">, so the exposed window begins earlier: what
            those responses read can date back to
            <xsl:choose><xsl:when test="r:exposed-first"><xsl:apply-templates select="r:exposed-first" mode="time"/>, the first start of the boots concerned</xsl:when>
            <xsl:otherwise>a time before the logs begin, for the start of a boot concerned is unknown</xsl:otherwise></xsl:choose></xsl:if>.
            Of the requests in the evidence, <xsl:call-template name="share"><xsl:with-param name="id">E1</xsl:with-param></xsl:call-template> are confirmed as read (E1),
            <xsl:call-template name="share"><xsl:with-param name="id">E2</xsl:with-param></xsl:call-template> probable (E2; E1 and E2 belong to
            <xsl:call-template name="n"><xsl:with-param name="id">exposed_tenants</xsl:with-param></xsl:call-template> named tenants),
            <xsl:call-template name="share"><xsl:with-param name="id">E3</xsl:with-param></xsl:call-template> possible (E3), and
            <xsl:call-template name="share"><xsl:with-param name="id">E5</xsl:with-param></xsl:call-template> could not be determined (E5).
            <xsl:if test="r:affected-first">Another tenant's content is known to be read in <xsl:call-template name="share"><xsl:with-param name="id">affected_cross_tenant</xsl:with-param></xsl:call-template> affected responses,
            the same tenant's in <xsl:call-template name="share"><xsl:with-param name="id">affected_same_tenant</xsl:with-param></xsl:call-template>;
            in <xsl:call-template name="share"><xsl:with-param name="id">affected_owner_unknown</xsl:with-param></xsl:call-template> the owner is not known.</xsl:if></p>
        <p><b>Evidence:</b><xsl:text> </xsl:text><xsl:call-template name="n"><xsl:with-param name="id">records</xsl:with-param></xsl:call-template> records from
          <xsl:call-template name="n"><xsl:with-param name="id">sources</xsl:with-param></xsl:call-template> sources;
          <xsl:call-template name="n"><xsl:with-param name="id">unparsed</xsl:with-param></xsl:call-template> not understood,
          <xsl:call-template name="n"><xsl:with-param name="id">gaps</xsl:with-param></xsl:call-template> known gaps,
          <xsl:call-template name="n"><xsl:with-param name="id">conflicts</xsl:with-param></xsl:call-template> conflicts between sources.
          Lineage is decided for <xsl:call-template name="share"><xsl:with-param name="id">l_known</xsl:with-param></xsl:call-template> responses.
          Worker logs span <xsl:call-template name="share"><xsl:with-param name="id">seen_s</xsl:with-param></xsl:call-template> worker-seconds of the window.
          <xsl:if test="/r:report/r:header/r:as-of">As of <xsl:apply-templates select="/r:report/r:header/r:as-of" mode="time"/>, issue <xsl:value-of select="/r:report/r:header/r:issue"/>.</xsl:if></p>
      </div>
      <ul class="classes">
        <xsl:call-template name="class"><xsl:with-param name="id">C1</xsl:with-param><xsl:with-param name="words">confirmed</xsl:with-param><xsl:with-param name="kind">c1</xsl:with-param></xsl:call-template>
        <xsl:call-template name="class"><xsl:with-param name="id">C2</xsl:with-param><xsl:with-param name="words">probable</xsl:with-param><xsl:with-param name="kind">c2</xsl:with-param></xsl:call-template>
        <xsl:call-template name="class"><xsl:with-param name="id">C3</xsl:with-param><xsl:with-param name="words">possible</xsl:with-param><xsl:with-param name="kind">c3</xsl:with-param></xsl:call-template>
        <xsl:call-template name="class"><xsl:with-param name="id">C4</xsl:with-param><xsl:with-param name="words">not affected</xsl:with-param><xsl:with-param name="kind">c4</xsl:with-param></xsl:call-template>
        <xsl:call-template name="class"><xsl:with-param name="id">C5</xsl:with-param><xsl:with-param name="words">could not be determined</xsl:with-param><xsl:with-param name="kind">c5</xsl:with-param></xsl:call-template>
      </ul>
      <p class="note">The five classes add up to the <xsl:call-template name="n"><xsl:with-param name="id">population</xsl:with-param></xsl:call-template> responses.
        Numbers are counted from the evidence; 'at most' marks an upper bound, 'at least' a count beside known gaps.</p>
    </section>
  </xsl:template>

  <xsl:template match="r:section">
    <section id="{@id}" aria-labelledby="h-{@id}">
      <h2 id="h-{@id}"><xsl:value-of select="@title"/></h2>
      <p><xsl:value-of select="r:text"/></p>
      <xsl:if test="@id = 'signals'"><xsl:call-template name="signals"/></xsl:if>
      <xsl:apply-templates select="r:figure"/>
      <xsl:apply-templates select="r:table"/>
    </section>
  </xsl:template>

  <xsl:template name="signals">
    <p>Searched: <xsl:call-template name="n"><xsl:with-param name="id">records</xsl:with-param></xsl:call-template> records, in which
      <xsl:call-template name="share"><xsl:with-param name="id">searchable</xsl:with-param></xsl:call-template> responses have the fields that the signals need, over a window that worker logs span to
      <xsl:call-template name="share"><xsl:with-param name="id">seen_s</xsl:with-param></xsl:call-template> worker-seconds.
      The table gives the matches. It does not show that nobody exploited the defect: see Limits; logs do not record what recipients did with responses.
      <xsl:if test="key('number', 'limit_least')">The condition could be produced deliberately by any account able to submit a prompt of
        <xsl:call-template name="n"><xsl:with-param name="id">limit_least</xsl:with-param></xsl:call-template> tokens or more.</xsl:if></p>
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
    <p class="empty">0 rows (query <code><xsl:value-of select="@query"/></code><xsl:if test="@classes">, classes <xsl:value-of select="@classes"/></xsl:if>): <xsl:value-of select="@empty-means"/>.</p>
  </xsl:template>

  <xsl:template match="r:table[r:row and @page-rows = 0]">
    <p class="empty">The list itself has <xsl:call-template name="count"><xsl:with-param name="value" select="@rows"/></xsl:call-template> rows and is not printed here: see
      <code><xsl:value-of select="$file"/></code>, section '<xsl:value-of select="../@id"/>', or <code>pagetrail query CASE <xsl:value-of select="@query"/></code>.</p>
  </xsl:template>

  <xsl:template match="r:table">
    <xsl:variable name="columns" select="r:column[@shown = 'true']"/>
    <xsl:variable name="shown" select="count($columns)"/>
    <xsl:variable name="rows" select="@page-rows"/>
    <div class="scroll" tabindex="0" role="region" aria-label="{../@title}: {@title}">
      <table class="q-{@query}">
        <caption><xsl:call-template name="count"><xsl:with-param name="value" select="@rows"/></xsl:call-template> rows<xsl:if test="$rows &lt; @rows">, the first
          <xsl:call-template name="count"><xsl:with-param name="value" select="$rows"/></xsl:call-template> printed; more in <code><xsl:value-of select="$file"/></code></xsl:if>;
          query <code><xsl:value-of select="@query"/></code><xsl:if test="@classes">, classes <xsl:value-of select="@classes"/></xsl:if></caption>
        <thead><tr>
          <xsl:for-each select="$columns[@below = 'false']"><th scope="col" class="{@type} {@style}" title="{.}"><xsl:value-of select="@label"/></th></xsl:for-each>
        </tr></thead>
        <xsl:choose>
          <!-- long texts of a row go below it, over its full width -->
          <xsl:when test="$columns[@below = 'true']">
            <xsl:for-each select="r:row[position() &lt;= $rows]"><tbody>
              <tr><xsl:call-template name="cells"><xsl:with-param name="columns" select="$columns"/></xsl:call-template></tr>
              <tr class="more"><td></td><td colspan="{count($columns[@below = 'false']) - 1}">
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
      <xsl:when test="$column/@style = 'refs'"><details><summary><xsl:value-of select="count(r:item)"/> records</summary><xsl:for-each select="r:item"><xsl:value-of select="."/><xsl:text> </xsl:text></xsl:for-each></details></xsl:when>
      <xsl:otherwise><xsl:for-each select="r:item"><xsl:if test="@name"><xsl:value-of select="@name"/>=</xsl:if><xsl:value-of select="."/><xsl:if test="position() != last()">; </xsl:if></xsl:for-each></xsl:otherwise>
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
        <xsl:for-each select="r:limit"><li><b><xsl:call-template name="count"><xsl:with-param name="value" select="@count"/></xsl:call-template></b>
          <xsl:if test="@of"> of <xsl:call-template name="count"><xsl:with-param name="value" select="@of"/></xsl:call-template></xsl:if>
          <xsl:text> </xsl:text><xsl:value-of select="@unit"/><xsl:text> </xsl:text><xsl:value-of select="."/>.</li></xsl:for-each>
      </ul>
      <p>Beyond what can be counted: logs that nobody collected; what recipients read, kept or forwarded; whose personal data prompts
        held. The number of people behind a tenant is not in the logs. Loss of logs is not random: it goes with overload, and so do very long prompts.</p>
    </section>
  </xsl:template>

  <xsl:template match="r:blanks">
    <section id="people" aria-labelledby="h-people">
      <h2 id="h-people">For people to complete</h2>
      <p><xsl:value-of select="@count"/> entries that the program does not make. An issue with open entries is a draft.</p>
      <dl class="people">
        <xsl:for-each select="r:blank"><dt><xsl:value-of select="@title"/></dt>
          <dd><span class="tbc">[TO BE COMPLETED: <xsl:value-of select="@id"/>]</span><xsl:text> </xsl:text><xsl:value-of select="."/></dd></xsl:for-each>
      </dl>
    </section>
  </xsl:template>

  <xsl:template name="method">
    <section id="method" aria-labelledby="h-method">
      <h2 id="h-method">Method</h2>
      <p>For each response five predicates are answered yes, no or unknown: T the trigger was met (prompt at or over the input limit of
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
