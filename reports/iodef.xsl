<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- iodef.xsl - an incident as IODEF 2.0 (RFC 7970): totals, windows, workers and gaps; names no tenant and no request.
     What IODEF demands and a person must say is the same visible blank as on the page; what it allows to be left out is left out:
     severity, status and the time of detection are a person's words, which fit no list and no date. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:r="urn:pagetrail:report:1"
                xmlns="urn:ietf:params:xml:ns:iodef-2.0" exclude-result-prefixes="r">
  <xsl:output method="xml" encoding="UTF-8" indent="yes"/>

  <xsl:key name="number" match="r:number" use="@id"/>
  <xsl:variable name="public" select="/r:report/@kind = 'public'"/>
  <xsl:variable name="blanks" select="/r:report/r:blanks/r:blank"/>
  <xsl:variable name="header" select="/r:report/r:header"/>
  <xsl:variable name="numbers" select="/r:report/r:numbers"/>
  <xsl:variable name="marking" select="translate($blanks[@id = 'marking'][@state = 'answered'], 'abcdefghijklmnopqrstuvwxyz ', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ')"/>

  <xsl:template match="/r:report">
    <IODEF-Document version="2.00" xml:lang="en">
      <Incident purpose="reporting" xml:lang="en">
        <xsl:call-template name="restriction"/>
        <IncidentID>
          <xsl:attribute name="name"><xsl:call-template name="issuer"/></xsl:attribute>
          <xsl:choose>
            <xsl:when test="$header/r:case-id"><xsl:value-of select="$header/r:case-id"/></xsl:when>
            <xsl:otherwise><xsl:value-of select="$header/r:content-digest"/></xsl:otherwise>
          </xsl:choose>
        </IncidentID>
        <xsl:if test="$numbers/r:affected-first"><StartTime><xsl:value-of select="$numbers/r:affected-first"/></StartTime></xsl:if>
        <xsl:if test="$numbers/r:affected-before"><EndTime><xsl:value-of select="$numbers/r:affected-before"/></EndTime></xsl:if>
        <ReportTime><xsl:value-of select="$header/r:as-of"/></ReportTime>
        <GenerationTime><xsl:value-of select="$header/r:as-of"/></GenerationTime>
        <Description>Responses of a shared inference service that were, or may have been, computed over memory that still held other requests.
          Start and end are the recipient window: starts of C1 and C2 responses. The exposed window begins earlier; see the event data.</Description>
        <xsl:if test="$header/r:case-title"><Description><xsl:value-of select="$header/r:case-title"/></Description></xsl:if>
        <Description>Issue <xsl:value-of select="$header/r:issue"/>, <xsl:value-of select="$header/r:state"/>, for: <xsl:value-of select="$header/r:audience"/>. Entries that people have to make: <xsl:value-of select="r:blanks/@count"/> open.</Description>
        <xsl:for-each select="r:note/r:line"><Description>Entered by a person: <xsl:value-of select="."/></Description></xsl:for-each>
        <xsl:for-each select="$blanks[@id = 'summary' or @id = 'data-categories' or @id = 'consequences' or @id = 'severity']"><Description><xsl:call-template name="said"/></Description></xsl:for-each>
        <xsl:for-each select="$blanks[@id = 'detected']"><Discovery><Description><xsl:call-template name="said"/></Description></Discovery></xsl:for-each>
        <xsl:call-template name="assessment"/>
        <xsl:call-template name="method"/>
        <Contact role="creator" type="organization">
          <ContactName><xsl:call-template name="issuer"/></ContactName>
        </Contact>
        <xsl:call-template name="windows"/>
        <xsl:apply-templates select="r:section/r:table[@query = 'windows']/r:row" mode="window"/>
        <xsl:apply-templates select="r:section/r:table[@query = 'gaps']/r:row" mode="gap"/>
        <xsl:call-template name="history"/>
        <xsl:apply-templates select="r:limits/r:limit"/>
        <xsl:for-each select="r:section/r:table[@query = 'windows' or @query = 'gaps'][@truncated = 'true']">
          <AdditionalData dtype="string" meaning="left out"><xsl:value-of select="@title"/>: there are more rows than stand here</AdditionalData>
        </xsl:for-each>
        <xsl:for-each select="$header/r:tool | $header/r:content-digest | $header/r:evidence-digest | $header/r:journal-head | $header/r:signature">
          <AdditionalData dtype="string" meaning="{local-name()}"><xsl:value-of select="."/></AdditionalData>
        </xsl:for-each>
        <xsl:for-each select="$header/r:parameter">
          <AdditionalData dtype="string" meaning="parameter {@name}, {@flag}"><xsl:value-of select="."/></AdditionalData>
        </xsl:for-each>
      </Incident>
    </IODEF-Document>
  </xsl:template>

  <!-- by the person's marking; without one, the narrowest word that RFC 7970 has for a document of one's own -->
  <xsl:template name="restriction">
    <xsl:attribute name="restriction">
      <xsl:choose>
        <xsl:when test="$public">public</xsl:when>
        <xsl:when test="starts-with($marking, 'TLP:RED')">red</xsl:when>
        <xsl:when test="starts-with($marking, 'TLP:AMBER')">amber</xsl:when>
        <xsl:when test="starts-with($marking, 'TLP:GREEN')">green</xsl:when>
        <xsl:when test="starts-with($marking, 'TLP:CLEAR') or starts-with($marking, 'TLP:WHITE')">white</xsl:when>
        <xsl:when test="string($marking)">ext-value</xsl:when>
        <xsl:otherwise>private</xsl:otherwise>
      </xsl:choose>
    </xsl:attribute>
    <xsl:if test="not($public) and string($marking)"><xsl:attribute name="ext-restriction"><xsl:value-of select="$blanks[@id = 'marking']"/></xsl:attribute></xsl:if>
  </xsl:template>

  <xsl:template name="said">
    <xsl:value-of select="@title"/><xsl:text>: </xsl:text>
    <xsl:choose>
      <xsl:when test="@state = 'answered'"><xsl:value-of select="."/></xsl:when>
      <xsl:when test="@state">does not apply: <xsl:value-of select="."/></xsl:when>
      <xsl:otherwise>[TO BE COMPLETED: <xsl:value-of select="@id"/>] <xsl:value-of select="."/></xsl:otherwise>
    </xsl:choose>
    <xsl:if test="@state"> (<xsl:value-of select="@by"/>, <xsl:value-of select="@on"/>)</xsl:if>
  </xsl:template>
  <!-- who can be asked; else who approved -->
  <xsl:template name="issuer">
    <xsl:variable name="one" select="($blanks[@id = 'contact'] | $blanks[@id = 'approver'][not($blanks[@id = 'contact'])])[1]"/>
    <xsl:choose>
      <xsl:when test="$one/@state = 'answered'"><xsl:value-of select="$one"/></xsl:when>
      <xsl:otherwise>[TO BE COMPLETED: <xsl:value-of select="$one/@id"/>]</xsl:otherwise>
    </xsl:choose>
  </xsl:template>

  <!-- a number's share, how it came about, and whether there may be more -->
  <xsl:template name="basis">
    <xsl:value-of select="@id"/><xsl:text>, </xsl:text><xsl:value-of select="@flag"/>
    <xsl:if test="@at-least">, at least</xsl:if>
    <xsl:if test="@population">, part of <xsl:value-of select="@population"/></xsl:if>
    <xsl:if test="@of"> (<xsl:value-of select="@of"/>)</xsl:if>
    <xsl:if test="@percent">, <xsl:value-of select="@percent"/> %</xsl:if>
  </xsl:template>

  <xsl:template name="assessment">
    <xsl:variable name="c1" select="key('number', 'C1')"/>
    <Assessment>
      <xsl:attribute name="occurrence"><xsl:choose><xsl:when test="$c1/@value &gt; 0 or ($c1/@band and $c1/@band != '0' and $c1/@band != 'withheld')">actual</xsl:when><xsl:otherwise>potential</xsl:otherwise></xsl:choose></xsl:attribute>
      <SystemImpact type="breach-privacy">
        <Description>Recipient side: C1 confirmed, C2 probable, C3 possible, C4 not affected, C5 could not be determined. Exposed side: E1 to E5 likewise, for requests whose content was, or may have been, read.</Description>
      </SystemImpact>
      <xsl:for-each select="$numbers/r:number[@value]">
        <Counter type="count" unit="ext-value" ext-unit="{@unit}"><xsl:attribute name="meaning"><xsl:call-template name="basis"/></xsl:attribute><xsl:value-of select="@value"/></Counter>
      </xsl:for-each>
      <xsl:for-each select="$blanks[@id = 'root-cause']"><Cause><xsl:call-template name="said"/></Cause></xsl:for-each>
      <xsl:for-each select="$numbers/r:number[@band]">
        <AdditionalData dtype="string"><xsl:attribute name="meaning"><xsl:call-template name="basis"/></xsl:attribute><xsl:value-of select="@band"/><xsl:text> </xsl:text><xsl:value-of select="@unit"/></AdditionalData>
      </xsl:for-each>
      <xsl:for-each select="$numbers/r:trigger-stands | $numbers/r:build-stands">
        <AdditionalData dtype="string" meaning="{local-name()}"><xsl:value-of select="."/></AdditionalData>
      </xsl:for-each>
    </Assessment>
  </xsl:template>

  <xsl:template name="method">
    <Method>
      <Description>A response has five predicates, answered yes, no or unknown: T trigger met, A affected build, L foreign read in the page log, D delivered, X content evidence.
        X, or L and D: C1. L, D unknown: C2. Not D, or not L on a complete page log, or not T or not A while the hypothesis stands: C4. T, A and D, L unknown: C2. T, D and L unknown: C5. Anything else: C3.</Description>
      <xsl:for-each select="$header/r:policy">
        <AdditionalData dtype="string" meaning="policy, {@flag}"><xsl:value-of select="@id"/>, sha256 <xsl:value-of select="@sha256"/></AdditionalData>
        <xsl:if test="@commits-sha256"><AdditionalData dtype="string" meaning="lists of commits, sha256"><xsl:value-of select="@commits-sha256"/></AdditionalData></xsl:if>
      </xsl:for-each>
    </Method>
  </xsl:template>

  <xsl:template name="windows">
    <xsl:if test="$numbers/r:population-first">
      <EventData>
        <Description>Window of the evidence: starts of the responses seen</Description>
        <StartTime><xsl:value-of select="$numbers/r:population-first"/></StartTime>
        <EndTime><xsl:value-of select="$numbers/r:population-before"/></EndTime>
        <xsl:if test="$numbers/r:population-last"><AdditionalData dtype="date-time" meaning="population-last"><xsl:value-of select="$numbers/r:population-last"/></AdditionalData></xsl:if>
      </EventData>
    </xsl:if>
    <xsl:if test="$numbers/r:affected-first">
      <EventData>
        <Description>Recipient window: starts of C1 confirmed and C2 probable responses</Description>
        <StartTime><xsl:value-of select="$numbers/r:affected-first"/></StartTime>
        <EndTime><xsl:value-of select="$numbers/r:affected-before"/></EndTime>
        <xsl:if test="$numbers/r:affected-last"><AdditionalData dtype="date-time" meaning="affected-last"><xsl:value-of select="$numbers/r:affected-last"/></AdditionalData></xsl:if>
      </EventData>
      <EventData>
        <Description>Exposed window: what those responses read can be as old as the first start of the boots concerned<xsl:if test="not($numbers/r:exposed-first)">, which is not said here: not known, or not printed for these readers</xsl:if></Description>
        <xsl:if test="$numbers/r:exposed-first"><StartTime><xsl:value-of select="$numbers/r:exposed-first"/></StartTime></xsl:if>
        <EndTime><xsl:value-of select="$numbers/r:affected-before"/></EndTime>
      </EventData>
    </xsl:if>
  </xsl:template>

  <!-- a cell of this row by the name of its column -->
  <xsl:template name="at">
    <xsl:param name="name"/>
    <xsl:value-of select="r:cell[count(../../r:column[@name = $name]/preceding-sibling::r:column) + 1]"/>
  </xsl:template>
  <xsl:template name="time">
    <xsl:param name="name"/>
    <xsl:param name="as"/>
    <xsl:variable name="time"><xsl:call-template name="at"><xsl:with-param name="name" select="$name"/></xsl:call-template></xsl:variable>
    <xsl:if test="string($time)"><xsl:element name="{$as}" namespace="urn:ietf:params:xml:ns:iodef-2.0"><xsl:value-of select="$time"/></xsl:element></xsl:if>
  </xsl:template>
  <xsl:template name="system">
    <xsl:param name="worker"/>
    <xsl:param name="affected"/>
    <xsl:param name="role"/>
    <Flow>
      <System category="target">
        <Node><Address category="ext-value" ext-category="worker"><xsl:value-of select="$worker"/></Address></Node>
        <xsl:if test="string($affected)"><Counter type="count" unit="ext-value" ext-unit="responses" meaning="affected (C1, C2)"><xsl:value-of select="$affected"/></Counter></xsl:if>
        <xsl:if test="string($role)"><Description>Role: <xsl:value-of select="$role"/></Description></xsl:if>
      </System>
    </Flow>
  </xsl:template>

  <xsl:template match="r:row" mode="window">
    <EventData>
      <Description>Recipient window of one worker; what its responses read can be older</Description>
      <xsl:call-template name="time"><xsl:with-param name="name">affected_from</xsl:with-param><xsl:with-param name="as">StartTime</xsl:with-param></xsl:call-template>
      <xsl:call-template name="time"><xsl:with-param name="name">affected_to</xsl:with-param><xsl:with-param name="as">EndTime</xsl:with-param></xsl:call-template>
      <xsl:call-template name="system">
        <xsl:with-param name="worker"><xsl:call-template name="at"><xsl:with-param name="name">worker</xsl:with-param></xsl:call-template></xsl:with-param>
        <xsl:with-param name="affected"><xsl:call-template name="at"><xsl:with-param name="name">affected</xsl:with-param></xsl:call-template></xsl:with-param>
        <xsl:with-param name="role"><xsl:call-template name="at"><xsl:with-param name="name">role</xsl:with-param></xsl:call-template></xsl:with-param>
      </xsl:call-template>
      <xsl:variable name="from"><xsl:call-template name="at"><xsl:with-param name="name">exposed_from</xsl:with-param></xsl:call-template></xsl:variable>
      <xsl:variable name="to"><xsl:call-template name="at"><xsl:with-param name="name">exposed_to</xsl:with-param></xsl:call-template></xsl:variable>
      <AdditionalData dtype="string" meaning="exposed window from"><xsl:choose><xsl:when test="string($from)"><xsl:value-of select="$from"/></xsl:when><xsl:otherwise>unknown: before the log begins</xsl:otherwise></xsl:choose></AdditionalData>
      <AdditionalData dtype="string" meaning="exposed window to"><xsl:choose><xsl:when test="string($to)"><xsl:value-of select="$to"/></xsl:when><xsl:otherwise>unknown</xsl:otherwise></xsl:choose></AdditionalData>
    </EventData>
  </xsl:template>

  <xsl:template match="r:row" mode="gap">
    <xsl:variable name="worker"><xsl:call-template name="at"><xsl:with-param name="name">worker</xsl:with-param></xsl:call-template></xsl:variable>
    <EventData>
      <Description>Gap in the evidence: <xsl:call-template name="at"><xsl:with-param name="name">kind</xsl:with-param></xsl:call-template>; <xsl:call-template name="at"><xsl:with-param name="name">effect</xsl:with-param></xsl:call-template></Description>
      <xsl:call-template name="time"><xsl:with-param name="name">from</xsl:with-param><xsl:with-param name="as">StartTime</xsl:with-param></xsl:call-template>
      <xsl:call-template name="time"><xsl:with-param name="name">to</xsl:with-param><xsl:with-param name="as">EndTime</xsl:with-param></xsl:call-template>
      <xsl:if test="string($worker)"><xsl:call-template name="system"><xsl:with-param name="worker" select="$worker"/></xsl:call-template></xsl:if>
    </EventData>
  </xsl:template>

  <xsl:template name="history">
    <History>
      <HistoryItem action="status-new-info">
        <DateTime><xsl:value-of select="$header/r:as-of"/></DateTime>
        <Description>Issue <xsl:value-of select="$header/r:issue"/><xsl:if test="$header/r:supersedes">, supersedes issue <xsl:value-of select="$header/r:supersedes"/></xsl:if>: what the evidence said at this time</Description>
      </HistoryItem>
      <xsl:for-each select="$blanks[@state = 'answered'][@id = 'actions-taken' or @id = 'actions-planned' or @id = 'actions' or @id = 'fix' or @id = 'notification' or @id = 'phase' or @id = 'next-update']">
        <HistoryItem action="other">
          <!-- the day on which it was said; its text has the days on which it was done -->
          <DateTime><xsl:value-of select="@on"/>T00:00:00Z</DateTime>
          <Description><xsl:call-template name="said"/></Description>
        </HistoryItem>
      </xsl:for-each>
    </History>
  </xsl:template>

  <xsl:template match="r:limit">
    <AdditionalData dtype="string" meaning="limit {@id}"><xsl:value-of select="@count"/><xsl:value-of select="@band"/><xsl:if test="@of"> of <xsl:value-of select="@of"/></xsl:if><xsl:text> </xsl:text><xsl:value-of select="@unit"/><xsl:text> </xsl:text><xsl:value-of select="."/></AdditionalData>
  </xsl:template>
</xsl:stylesheet>
