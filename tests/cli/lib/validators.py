# SPDX-License-Identifier: Apache-2.0
# validators.py - validators of other people, where they are at hand; what is missing is said, and is no failure
#
# PAGETRAIL_NODE_MODULES names a folder in which npm has installed @secvisogram/csaf-validator-lib, ajv (8) and ajv-formats;
# PAGETRAIL_SCHEMAS a folder with dfxml/dfxml.xsd, osv/osv-schema.json, iodef/iodef-2.0.xsd (and catalog.xml
# for what it imports), csaf/2.0/csaf_json_schema.json and csaf/2.1/referenced_schema/first/.
import glob
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def _missing(*packages):
    modules = os.environ.get("PAGETRAIL_NODE_MODULES")
    if not modules or not shutil.which("node"):
        return "no node, or PAGETRAIL_NODE_MODULES names no folder"
    return next((f"no {p} in {modules}" for p in packages if not os.path.isdir(os.path.join(modules, p))), None)


def _run(*args):
    p = subprocess.run(["node", os.path.join(HERE, "validate.mjs"), os.environ["PAGETRAIL_NODE_MODULES"], *args], capture_output=True, timeout=300)
    if p.returncode:
        print(p.stderr.decode(errors="replace")[-4000:], file=sys.stderr)
        sys.exit(1)


def csaf(*files):
    """The schema and all mandatory tests of CSAF 2.0, section 6.1."""
    why = _missing("@secvisogram/csaf-validator-lib")
    if why:
        print(f"# csaf-validator-lib was not asked: {why}")
    else:
        _run("csaf", *files)


def by_schema(schema, *files):
    """JSON Schema, by ajv."""
    folder = os.environ.get("PAGETRAIL_SCHEMAS")
    path = os.path.join(folder or "", schema)
    why = _missing("ajv", "ajv-formats") or (None if folder and os.path.exists(path) else f"PAGETRAIL_SCHEMAS names no folder with {schema}")
    if why:
        print(f"# {schema} was not checked: {why}")
    else:
        _run("schema", path, ",".join(sorted(glob.glob(os.path.join(folder, "csaf/2.1/referenced_schema/first/cvss-v[23].[01].json")))), *files)


def by_xsd(schema, *files):
    """XML Schema, by xmllint."""
    path = os.path.join(os.environ.get("PAGETRAIL_SCHEMAS") or "", schema)
    if not os.environ.get("PAGETRAIL_SCHEMAS") or not os.path.exists(path) or not shutil.which("xmllint"):
        print(f"# {schema} was not checked: no xmllint, or PAGETRAIL_SCHEMAS names no folder with {schema}")
        return
    catalog = os.path.join(os.path.dirname(path), "catalog.xml")
    env = {**os.environ, **({"XML_CATALOG_FILES": catalog} if os.path.exists(catalog) else {})}
    p = subprocess.run(["xmllint", "--noout", "--nonet", "--schema", path, *files], capture_output=True, timeout=300, env=env)
    if p.returncode:
        print(p.stderr.decode(errors="replace")[-4000:], file=sys.stderr)
        sys.exit(1)
