<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- deploy.xsl - what each replica runs, and how well that is known -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:r="urn:pagetrail:report:1"
                exclude-result-prefixes="r">
  <xsl:import href="report.xsl"/>

  <!-- the word belongs into no title while a replica is open, or nobody says how many there are -->
  <xsl:template name="title">Deployment of the fix: <xsl:choose>
      <xsl:when test="key('number', 'open')/@value &gt; 0">under investigation</xsl:when>
      <xsl:when test="key('number', 'verified_fixed')/@value &gt; 0 and key('number', 'inventory')">verified for the replicas of the inventory</xsl:when>
      <xsl:when test="key('number', 'verified_fixed')/@value &gt; 0">no inventory to hold it against</xsl:when>
      <xsl:otherwise>not verified</xsl:otherwise></xsl:choose></xsl:template>
  <xsl:template name="audience">: names replicas, requests and tenants; not to be handed out</xsl:template>
  <xsl:template name="nav-first"><li><a href="#statement">Statement</a></li></xsl:template>
  <xsl:template name="nav-last"><li><a href="#method">Method</a></li></xsl:template>
  <xsl:template name="first"><xsl:apply-templates select="r:numbers"/></xsl:template>
  <xsl:template name="last"><xsl:call-template name="method"/></xsl:template>
  <xsl:template name="foot">The same case and arguments give this file byte for byte. A released version is not a deployed one.</xsl:template>
  <xsl:template name="beyond">
    <p>Beyond what can be counted: replicas of which no log was collected and that the inventory does not have; what a replica runs now, after the
      time that is judged. A record that is lost can leave an older one to be believed; the policy bounds how old a record may be.</p>
  </xsl:template>

  <xsl:template name="verdict">
    <xsl:param name="id"/><xsl:param name="words"/><xsl:param name="kind"/>
    <xsl:variable name="n" select="key('number', $id)"/>
    <li class="{$kind}"><strong><xsl:call-template name="count"><xsl:with-param name="value" select="$n/@value"/></xsl:call-template></strong><xsl:value-of select="$words"/>
      <xsl:if test="$n/@percent"><small><xsl:value-of select="$n/@percent"/>&#160;% of <xsl:call-template name="count"><xsl:with-param name="value" select="$n/@of"/></xsl:call-template></small></xsl:if></li>
  </xsl:template>

  <xsl:template match="r:numbers">
    <section id="statement" aria-labelledby="h-statement">
      <h2 id="h-statement">Statement</h2>
      <div class="statement">
        <p><xsl:choose>
            <xsl:when test="key('number', 'inventory')">The inventory <code><xsl:value-of select="/r:report/r:header/r:inventory"/></code> has
              <b><xsl:call-template name="n"><xsl:with-param name="id">inventory</xsl:with-param></xsl:call-template></b> replica<xsl:call-template name="s"><xsl:with-param name="id">inventory</xsl:with-param></xsl:call-template>, of which
              <xsl:call-template name="n"><xsl:with-param name="id">retired</xsl:with-param></xsl:call-template><xsl:call-template name="s"><xsl:with-param name="id">retired</xsl:with-param><xsl:with-param name="one"> is</xsl:with-param><xsl:with-param name="many"> are</xsl:with-param></xsl:call-template> retired. Of the others
              <b><xsl:call-template name="share"><xsl:with-param name="id">verified_fixed</xsl:with-param></xsl:call-template></b><xsl:call-template name="s"><xsl:with-param name="id">verified_fixed</xsl:with-param><xsl:with-param name="one"> is</xsl:with-param><xsl:with-param name="many"> are</xsl:with-param></xsl:call-template> verified fixed
              (their own process said so, rung L4 or L5)</xsl:when>
            <xsl:otherwise>No inventory was given: how many replicas there are is not known, and there is no share. Of
              <xsl:call-template name="n"><xsl:with-param name="id">replicas</xsl:with-param></xsl:call-template> that the evidence names,
              <b><xsl:call-template name="n"><xsl:with-param name="id">verified_fixed</xsl:with-param></xsl:call-template></b><xsl:call-template name="s"><xsl:with-param name="id">verified_fixed</xsl:with-param><xsl:with-param name="one"> is</xsl:with-param><xsl:with-param name="many"> are</xsl:with-param></xsl:call-template> verified fixed
              (their own process said so, rung L4 or L5)</xsl:otherwise></xsl:choose><xsl:if test="r:judged-at">, as of <xsl:apply-templates select="r:judged-at" mode="time"/></xsl:if>.
          <b><xsl:call-template name="n"><xsl:with-param name="id">open</xsl:with-param></xsl:call-template></b><xsl:call-template name="s"><xsl:with-param name="id">open</xsl:with-param><xsl:with-param name="one"> is</xsl:with-param><xsl:with-param name="many"> are</xsl:with-param></xsl:call-template> open: neither verified fixed nor retired<xsl:if test="key('number', 'outside_inventory')">.
            That counts replicas outside of the inventory too, of which logs show <xsl:call-template name="n"><xsl:with-param name="id">outside_inventory</xsl:with-param></xsl:call-template></xsl:if>.</p>
        <p><b>End of the affected window:</b><xsl:text> </xsl:text><xsl:choose>
            <xsl:when test="r:served-last">the last response of a boot that is known to have the defect ended at <xsl:apply-templates select="r:served-last" mode="time"/>
              (<xsl:call-template name="n"><xsl:with-param name="id">served_affected</xsl:with-param></xsl:call-template> response<xsl:call-template name="s"><xsl:with-param name="id">served_affected</xsl:with-param></xsl:call-template> of such boots in the evidence).</xsl:when>
            <xsl:otherwise>0 responses in the evidence are known to be of a boot with the defect; those without a known worker are not excluded.</xsl:otherwise></xsl:choose>
          <xsl:if test="key('number', 'open')/@value &gt; 0"> While replicas are open, it may not have ended.</xsl:if>
          <xsl:choose>
            <xsl:when test="r:first-fixed"><xsl:text> </xsl:text>A first replica ran the fix at <xsl:apply-templates select="r:first-fixed" mode="time"/>;
              after that, <xsl:call-template name="count"><xsl:with-param name="value" select="/r:report/r:section[@id = 'after']/r:table/@rows"/></xsl:call-template> response<xsl:call-template name="s"><xsl:with-param name="n" select="/r:report/r:section[@id = 'after']/r:table/@rows"/><xsl:with-param name="one"> is</xsl:with-param><xsl:with-param name="many">s are</xsl:with-param></xsl:call-template> of boots not known to have it.</xsl:when>
            <xsl:otherwise><xsl:text> </xsl:text>When a first replica ran the fix is not known.</xsl:otherwise></xsl:choose><xsl:if test="/r:report/r:header/r:parameter[@name = 'at']"> Both are of what came until the time that is judged, by all that the case knows of the boots.</xsl:if></p>
        <p><b>Configuration:</b><xsl:text> </xsl:text>for <xsl:call-template name="share"><xsl:with-param name="id">context_exceeds</xsl:with-param></xsl:call-template> replica<xsl:call-template name="of-s"><xsl:with-param name="id">context_exceeds</xsl:with-param></xsl:call-template> in service the context window is larger than
          the pool; for <xsl:call-template name="n"><xsl:with-param name="id">context_unknown</xsl:with-param></xsl:call-template> that is not known.</p>
        <p><b>Evidence:</b><xsl:text> </xsl:text><xsl:call-template name="share"><xsl:with-param name="id">observed</xsl:with-param></xsl:call-template> replica<xsl:call-template name="of-s"><xsl:with-param name="id">observed</xsl:with-param></xsl:call-template><xsl:call-template name="s"><xsl:with-param name="id">observed</xsl:with-param><xsl:with-param name="one"> was</xsl:with-param><xsl:with-param name="many"> were</xsl:with-param></xsl:call-template> observed by then;
          of <xsl:call-template name="n"><xsl:with-param name="id">below_l4</xsl:with-param></xsl:call-template> no process said what it runs.
          <xsl:call-template name="n"><xsl:with-param name="id">records</xsl:with-param></xsl:call-template> record<xsl:call-template name="s"><xsl:with-param name="id">records</xsl:with-param></xsl:call-template> from <xsl:call-template name="n"><xsl:with-param name="id">sources</xsl:with-param></xsl:call-template> source<xsl:call-template name="s"><xsl:with-param name="id">sources</xsl:with-param></xsl:call-template>;
          <xsl:call-template name="n"><xsl:with-param name="id">unparsed</xsl:with-param></xsl:call-template> not understood,
          <xsl:call-template name="n"><xsl:with-param name="id">gaps</xsl:with-param></xsl:call-template> known gap<xsl:call-template name="s"><xsl:with-param name="id">gaps</xsl:with-param></xsl:call-template>;
          <xsl:call-template name="count"><xsl:with-param name="value" select="/r:report/r:section[@id = 'unread']/r:table/@rows"/></xsl:call-template> file<xsl:call-template name="s"><xsl:with-param name="n" select="/r:report/r:section[@id = 'unread']/r:table/@rows"/></xsl:call-template> about what runs could not be understood, or not as a whole.
          <xsl:if test="/r:report/r:header/r:as-of">As of <xsl:apply-templates select="/r:report/r:header/r:as-of" mode="time"/>, issue <xsl:value-of select="/r:report/r:header/r:issue"/>.</xsl:if></p>
      </div>
      <ul class="classes">
        <xsl:call-template name="verdict"><xsl:with-param name="id">verified_affected</xsl:with-param><xsl:with-param name="words">verified affected</xsl:with-param><xsl:with-param name="kind">c1</xsl:with-param></xsl:call-template>
        <xsl:call-template name="verdict"><xsl:with-param name="id">conflicting</xsl:with-param><xsl:with-param name="words">conflicting</xsl:with-param><xsl:with-param name="kind">c2</xsl:with-param></xsl:call-template>
        <xsl:call-template name="verdict"><xsl:with-param name="id">stale</xsl:with-param><xsl:with-param name="words">stale</xsl:with-param><xsl:with-param name="kind">c3</xsl:with-param></xsl:call-template>
        <xsl:call-template name="verdict"><xsl:with-param name="id">undetermined</xsl:with-param><xsl:with-param name="words">undetermined</xsl:with-param><xsl:with-param name="kind">c3</xsl:with-param></xsl:call-template>
        <xsl:call-template name="verdict"><xsl:with-param name="id">not_observed</xsl:with-param><xsl:with-param name="words">not observed</xsl:with-param><xsl:with-param name="kind">c5</xsl:with-param></xsl:call-template>
        <xsl:call-template name="verdict"><xsl:with-param name="id">verified_fixed</xsl:with-param><xsl:with-param name="words">verified fixed</xsl:with-param><xsl:with-param name="kind">c4</xsl:with-param></xsl:call-template>
      </ul>
    </section>
  </xsl:template>

  <xsl:template name="method">
    <section id="method" aria-labelledby="h-method">
      <h2 id="h-method">Method</h2>
      <p>The first verdict that fits, for each replica at the time that is judged: retired (the inventory says so), not observed (0 records of it), conflicting
        (records of one boot say fixed and affected, or a prompt over its limit was served with the fix), stale (the newest record is older than the policy
        allows, or than the last start, or its process ended), verified affected or verified fixed (its own process said the version, and the policy decides it), undetermined (what is left).</p>
      <p>Versions are judged by the policy of the first page. A list of packages on a disk, an image, or an order to roll out verifies nothing by itself.</p>
    </section>
  </xsl:template>
</xsl:stylesheet>
