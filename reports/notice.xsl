<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- notice.xsl - letters to one tenant: its requests that others read, its responses that hold what is not its own, or neither -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:r="urn:pagetrail:report:1"
                exclude-result-prefixes="r">
  <xsl:import href="report.xsl"/>

  <xsl:variable name="kind" select="/r:report/@kind"/>
  <xsl:variable name="open" select="key('number', 'C5')/@value + key('number', 'E5')/@value"/>
  <xsl:variable name="unnamed" select="key('number', 'unnamed_responses')/@band != '0' or key('number', 'unnamed_requests')/@band != '0'"/>

  <xsl:template name="marking">Confidential</xsl:template>
  <xsl:template name="audience">: to the addressee</xsl:template>
  <xsl:template name="title">
    <xsl:choose>
      <xsl:when test="$kind = 'notice-exposed'">Notice: others read, or may have read, your requests</xsl:when>
      <xsl:when test="$kind = 'notice-recipient'">Notice: responses to you hold, or may hold, what is not yours</xsl:when>
      <xsl:when test="$open &gt; 0">Answer to your question: could not be determined for <xsl:value-of select="$open"/> of your requests and responses</xsl:when>
      <xsl:otherwise>Answer to your question: what was found out about your requests</xsl:otherwise>
    </xsl:choose>
  </xsl:template>
  <xsl:template name="nav-first">
    <li><a href="#statement">Summary</a></li>
    <xsl:if test="$kind != 'notice-none'"><li><a href="#do"><xsl:call-template name="do-title"/></a></li></xsl:if>
  </xsl:template>
  <xsl:template name="nav-last"><li><a href="#meaning">What this means</a></li><li><a href="#method">How it was found out</a></li></xsl:template>
  <xsl:template name="first">
    <xsl:apply-templates select="r:numbers"/>
    <xsl:choose>
      <xsl:when test="$kind = 'notice-exposed'"><xsl:call-template name="do-exposed"/></xsl:when>
      <xsl:when test="$kind = 'notice-recipient'"><xsl:call-template name="do-recipient"/></xsl:when>
    </xsl:choose>
  </xsl:template>
  <xsl:template name="last"><xsl:call-template name="meaning"/><xsl:call-template name="method"/></xsl:template>
  <xsl:template name="foot">This paper states facts from logs; consequences and duties are for people to decide. It names no other customer.</xsl:template>
  <xsl:template name="beyond">
    <p>Beyond what can be counted: logs that nobody collected; what people read, kept or passed on; whose personal data prompts held.
      Loss of logs is not random: it goes with overload, and so do very long prompts.</p>
  </xsl:template>

  <!-- coverage of this customer's own responses and requests -->
  <xsl:template name="coverage">
    <p><b>How much of yours is known:</b> the evidence holds
      <xsl:call-template name="n"><xsl:with-param name="id">population</xsl:with-param></xsl:call-template> of your responses and
      <xsl:call-template name="n"><xsl:with-param name="id">owners</xsl:with-param></xsl:call-template> of your requests<xsl:if test="r:population-first">,
      begun from <xsl:apply-templates select="r:population-first" mode="time"/> until before <xsl:apply-templates select="r:population-before" mode="time"/></xsl:if>.
      Whose content a response rests on is decided for <xsl:call-template name="share"><xsl:with-param name="id">l_known</xsl:with-param></xsl:call-template>;
      <xsl:call-template name="share"><xsl:with-param name="id">page_logged</xsl:with-param></xsl:call-template><xsl:call-template name="s"><xsl:with-param name="id">page_logged</xsl:with-param><xsl:with-param name="one"> was</xsl:with-param><xsl:with-param name="many"> were</xsl:with-param></xsl:call-template> served where page logs were kept, which show who read what.
      Requests of yours that no log holds are not in these numbers.
      <xsl:if test="/r:report/r:header/r:as-of">As of <xsl:apply-templates select="/r:report/r:header/r:as-of" mode="time"/>, issue <xsl:value-of select="/r:report/r:header/r:issue"/>.</xsl:if></p>
  </xsl:template>

  <xsl:template match="r:numbers">
    <section id="statement" aria-labelledby="h-statement">
      <h2 id="h-statement">Summary</h2>
      <xsl:if test="r:trigger-stands = 'no' or r:build-stands = 'no'">
        <p class="warning">A C1 response contradicts what was first assumed of the cause. That assumption excludes nothing in this paper.</p>
      </xsl:if>
      <div class="statement">
        <xsl:choose>
          <xsl:when test="$kind = 'notice-exposed'"><xsl:call-template name="exposed"/></xsl:when>
          <xsl:when test="$kind = 'notice-recipient'"><xsl:call-template name="recipient"/></xsl:when>
          <xsl:otherwise><xsl:call-template name="none"/></xsl:otherwise>
        </xsl:choose>
        <xsl:call-template name="coverage"/>
      </div>
      <ul class="classes">
        <xsl:choose>
          <xsl:when test="$kind = 'notice-exposed'"><xsl:call-template name="tiles-e"/></xsl:when>
          <xsl:when test="$kind = 'notice-recipient'"><xsl:call-template name="tiles-c"/></xsl:when>
          <xsl:otherwise><xsl:call-template name="tiles-c"/></xsl:otherwise>
        </xsl:choose>
      </ul>
      <xsl:if test="$kind = 'notice-none'"><ul class="classes"><xsl:call-template name="tiles-e"/></ul></xsl:if>
      <p class="note">Numbers are counted from the evidence; 'at least' marks a count beside known gaps.</p>
    </section>
  </xsl:template>

  <xsl:template name="tiles-c">
    <xsl:call-template name="class"><xsl:with-param name="id">C1</xsl:with-param><xsl:with-param name="words">confirmed</xsl:with-param><xsl:with-param name="kind">c1</xsl:with-param></xsl:call-template>
    <xsl:call-template name="class"><xsl:with-param name="id">C2</xsl:with-param><xsl:with-param name="words">probable</xsl:with-param><xsl:with-param name="kind">c2</xsl:with-param></xsl:call-template>
    <xsl:call-template name="class"><xsl:with-param name="id">C3</xsl:with-param><xsl:with-param name="words">possible</xsl:with-param><xsl:with-param name="kind">c3</xsl:with-param></xsl:call-template>
    <xsl:call-template name="class"><xsl:with-param name="id">C4</xsl:with-param><xsl:with-param name="words">excluded by what was found out</xsl:with-param><xsl:with-param name="kind">c4</xsl:with-param></xsl:call-template>
    <xsl:call-template name="class"><xsl:with-param name="id">C5</xsl:with-param><xsl:with-param name="words">could not be determined</xsl:with-param><xsl:with-param name="kind">c5</xsl:with-param></xsl:call-template>
  </xsl:template>
  <xsl:template name="tiles-e">
    <xsl:call-template name="class"><xsl:with-param name="id">E1</xsl:with-param><xsl:with-param name="words">read, confirmed</xsl:with-param><xsl:with-param name="kind">c1</xsl:with-param></xsl:call-template>
    <xsl:call-template name="class"><xsl:with-param name="id">E2</xsl:with-param><xsl:with-param name="words">read, probable</xsl:with-param><xsl:with-param name="kind">c2</xsl:with-param></xsl:call-template>
    <xsl:call-template name="class"><xsl:with-param name="id">E3</xsl:with-param><xsl:with-param name="words">possible</xsl:with-param><xsl:with-param name="kind">c3</xsl:with-param></xsl:call-template>
    <xsl:call-template name="class"><xsl:with-param name="id">E4</xsl:with-param><xsl:with-param name="words">0 reads known or suspected</xsl:with-param><xsl:with-param name="kind">c4</xsl:with-param></xsl:call-template>
    <xsl:call-template name="class"><xsl:with-param name="id">E5</xsl:with-param><xsl:with-param name="words">could not be determined</xsl:with-param><xsl:with-param name="kind">c5</xsl:with-param></xsl:call-template>
  </xsl:template>

  <xsl:template name="exposed">
    <p>A defect of the service let answers rest on memory that still held other customers' requests. Of your
      <xsl:call-template name="n"><xsl:with-param name="id">owners</xsl:with-param></xsl:call-template> request<xsl:call-template name="s"><xsl:with-param name="id">owners</xsl:with-param></xsl:call-template> in the evidence, content of
      <b><xsl:call-template name="n"><xsl:with-param name="id">E1</xsl:with-param></xsl:call-template></b> was read by an answer that is confirmed (E1), of
      <b><xsl:call-template name="n"><xsl:with-param name="id">E2</xsl:with-param></xsl:call-template></b> by one that is probable (E2).
      <b><xsl:call-template name="n"><xsl:with-param name="id">E3</xsl:with-param></xsl:call-template></b> may have been read (E3), and
      <b><xsl:call-template name="n"><xsl:with-param name="id">E5</xsl:with-param></xsl:call-template></b> could not be determined (E5).
      The list below says for each whether others read it, or your own answers.</p>
  </xsl:template>
  <xsl:template name="recipient">
    <p>A defect of the service let answers rest on memory that still held other requests. Of your
      <xsl:call-template name="n"><xsl:with-param name="id">population</xsl:with-param></xsl:call-template> response<xsl:call-template name="s"><xsl:with-param name="id">population</xsl:with-param></xsl:call-template> in the evidence,
      <b><xsl:call-template name="n"><xsl:with-param name="id">C1</xsl:with-param></xsl:call-template></b><xsl:call-template name="s"><xsl:with-param name="id">C1</xsl:with-param><xsl:with-param name="one"> is</xsl:with-param><xsl:with-param name="many"> are</xsl:with-param></xsl:call-template> confirmed to rest on such content (C1),
      <b><xsl:call-template name="n"><xsl:with-param name="id">C2</xsl:with-param></xsl:call-template></b> probable (C2),
      <b><xsl:call-template name="n"><xsl:with-param name="id">C3</xsl:with-param></xsl:call-template></b> possible (C3), and
      <b><xsl:call-template name="n"><xsl:with-param name="id">C5</xsl:with-param></xsl:call-template></b> could not be determined (C5).
      Of C1 and C2, <xsl:call-template name="n"><xsl:with-param name="id">own_content</xsl:with-param></xsl:call-template> rest<xsl:call-template name="s"><xsl:with-param name="id">own_content</xsl:with-param><xsl:with-param name="one">s</xsl:with-param><xsl:with-param name="many"></xsl:with-param></xsl:call-template> on content of your own.
      <xsl:if test="r:affected-first">Those of C1 and C2 began from <xsl:apply-templates select="r:affected-first" mode="time"/> until before <xsl:apply-templates select="r:affected-before" mode="time"/>.</xsl:if></p>
  </xsl:template>
  <xsl:template name="none">
    <p>You asked whether answers to you hold what is not yours, and whether others read your requests.
      <xsl:choose>
        <xsl:when test="$open &gt; 0">This <b>could not be determined</b> for
          <xsl:call-template name="share"><xsl:with-param name="id">C5</xsl:with-param></xsl:call-template> of your responses and for
          <xsl:call-template name="share"><xsl:with-param name="id">E5</xsl:with-param></xsl:call-template> of your requests; they are listed below.
          For the others: </xsl:when>
        <xsl:otherwise>Of your responses in the evidence 0 are confirmed (C1), 0 probable (C2), 0 possible (C3), and 0 could not be determined (C5); the same holds for your requests. </xsl:otherwise>
      </xsl:choose>
      <xsl:call-template name="share"><xsl:with-param name="id">C4</xsl:with-param></xsl:call-template> of your responses<xsl:call-template name="s"><xsl:with-param name="id">C4</xsl:with-param><xsl:with-param name="one"> is</xsl:with-param><xsl:with-param name="many"> are</xsl:with-param></xsl:call-template> excluded, each by something that was found out (C4), and of
      <xsl:call-template name="share"><xsl:with-param name="id">E4</xsl:with-param></xsl:call-template> of your requests 0 reads by others are known or suspected (E4).</p>
    <xsl:if test="$unnamed">
      <p>Besides these, <xsl:call-template name="n"><xsl:with-param name="id">unnamed_responses</xsl:with-param></xsl:call-template> responses and
        <xsl:call-template name="n"><xsl:with-param name="id">unnamed_requests</xsl:with-param></xsl:call-template> requests of the service that are not excluded
        name no customer. Whether one of them is yours could not be determined.</p>
    </xsl:if>
  </xsl:template>

  <xsl:template name="do-title">
    <xsl:choose><xsl:when test="$kind = 'notice-exposed'">What you can do</xsl:when><xsl:otherwise>What we ask you to do</xsl:otherwise></xsl:choose>
  </xsl:template>
  <xsl:template name="do-exposed">
    <section id="do" aria-labelledby="h-do">
      <h2 id="h-do">What you can do</h2>
      <ol>
        <li>Find the requests of the list in your own records, by their ids and times. We keep their lengths, not their words.</li>
        <li>Replace passwords, keys and tokens that stood in them.</li>
        <li>Assess which people's data they held, and what that means for those people.</li>
        <li>See which clocks of your own begin with this notice: towards authorities, customers and contracts.</li>
      </ol>
    </section>
  </xsl:template>
  <xsl:template name="do-recipient">
    <section id="do" aria-labelledby="h-do">
      <h2 id="h-do">What we ask you to do</h2>
      <ol>
        <li>Find the responses of the list in your systems, logs and caches, by their ids and times.</li>
        <li>Do not use, study or pass on what in them does not belong to your request.</li>
        <li>Delete them, also from copies.</li>
        <li>Confirm this with the reply below, also where you found nothing or cannot delete.</li>
      </ol>
    </section>
  </xsl:template>

  <xsl:template name="meaning">
    <section id="meaning" aria-labelledby="h-meaning">
      <h2 id="h-meaning">What this means, and what it does not</h2>
      <xsl:choose>
        <xsl:when test="$kind = 'notice-exposed'">
          <dl class="people">
            <dt>E1, E2</dt><dd>Page logs name the memory that held content of this request when another answer was computed over it; or a mark of it stands in that answer. Logs do not say which words came out of it, or whether somebody read the answer.</dd>
            <dt>E3</dt><dd>An answer read content that nobody logged the owner of, and this request had lived in the same memory before; or it was read by a request of which no answer is known. It is one candidate; others lived there too.</dd>
            <dt>E5</dt><dd>It is a candidate for answers of which it could not be determined whether they read anything.</dd>
            <dt>Customers</dt><dd>Who the others are is not said, as they are not told who you are. Their number is a band.</dd>
          </dl>
        </xsl:when>
        <xsl:when test="$kind = 'notice-recipient'">
          <dl class="people">
            <dt>C1</dt><dd>Page logs show that the answer was computed over content of another request and was delivered, or a mark of another request stands in it. Logs do not say which words came out of it.</dd>
            <dt>C2</dt><dd>The conditions of the defect were met, and what the answer read, or whether it was delivered, is not logged.</dd>
            <dt>C3, C5</dt><dd>Neither shown nor excluded; a missing log is a reason to stand here.</dd>
            <dt>Whose</dt><dd>This paper says nothing of the customers whose content it was.</dd>
          </dl>
        </xsl:when>
        <xsl:otherwise>
          <p>'Excluded' means that something was found out for that response: nothing of it left the service, complete page logs show what it
            read, or the conditions of the defect were not met. A missing log never excludes anything. This answer can change when further
            evidence comes in; a correction will say what it corrects.</p>
        </xsl:otherwise>
      </xsl:choose>
    </section>
  </xsl:template>

  <xsl:template name="method">
    <section id="method" aria-labelledby="h-method">
      <h2 id="h-method">How it was found out</h2>
      <xsl:call-template name="rules"/>
      <p>The digests below name the evidence and the state of the analysis that this paper rests on; with them the sender can make it again, byte for byte,
        and the file <code><xsl:value-of select="$file"/></code>, which holds the same for machines.</p>
      <xsl:call-template name="basis-last"/>
    </section>
  </xsl:template>
</xsl:stylesheet>
