// SPDX-License-Identifier: Apache-2.0
// validate.mjs - asks other people's validators: NODE_MODULES csaf FILE… | NODE_MODULES schema SCHEMA CVSS,… FILE…
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const [modules, how, ...rest] = process.argv.slice(2)
const json = (path) => JSON.parse(readFileSync(path, 'utf8'))
let bad = 0
const say = (file, what) => { bad++; console.error(`${file}: ${what}`) }

if (how === 'csaf') {
  const lib = (name) => import(pathToFileURL(join(resolve(modules), '@secvisogram/csaf-validator-lib', name)).href)
  const validate = (await lib('validate.js')).default
  const { csaf_2_0_strict } = await lib('schemaTests.js')
  const tests = [csaf_2_0_strict, ...Object.values(await lib('mandatoryTests.js'))]
  for (const file of rest) {
    const result = await validate(tests, json(file))
    for (const t of result.tests) if (!t.isValid) say(file, `${t.name}: ${JSON.stringify(t.errors)}`)
    if (!result.isValid && !bad) say(file, 'not valid')
  }
} else {
  const need = createRequire(join(resolve(modules), 'x.js'))
  const Ajv = need('ajv/dist/2020').default
  const ajv = new Ajv({ strict: false, allErrors: true })
  need('ajv-formats').default(ajv)
  const [schema, cvss, ...files] = rest
  for (const path of cvss.split(',').filter(Boolean)) {
    const s = json(path)
    delete s.$schema // some are of drafts that this ajv does not speak, and use nothing that differs
    delete s.$id, delete s.id
    ajv.addSchema(s, 'https://www.first.org/cvss/' + basename(path))
  }
  const check = ajv.compile(json(schema))
  for (const file of files) if (!check(json(file))) say(file, JSON.stringify(check.errors))
}
process.exit(bad ? 1 : 0)
