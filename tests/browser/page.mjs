// SPDX-License-Identifier: Apache-2.0
// page.mjs MODULES CHROMIUM axe FILE… | shot FILE PNG WIDTH HEIGHT - pages in a real browser, which is let no further than the file
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';

const [modules, chromium, what, ...rest] = process.argv.slice(2);
const require = createRequire(resolve(modules, 'none.js'));
const puppeteer = require('puppeteer-core');
const browser = await puppeteer.launch({ executablePath: chromium, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
const faults = [];

async function open(file, width, height) {
	const page = await browser.newPage();
	await page.setViewport({ width, height, deviceScaleFactor: 1 });
	page.on('request', (r) => r.url().startsWith('file:') || r.url().startsWith('data:') || faults.push(`${file} asks for ${r.url()}`));
	page.on('dialog', (d) => { faults.push(`${file} runs a script: ${d.message()}`); d.dismiss(); });
	await page.setBypassCSP(true); // for axe alone, which is a script
	await page.goto(pathToFileURL(resolve(file)).href);
	return page;
}

function unread() {
	const box = (e) => e.getBoundingClientRect(), said = (e) => e.textContent.trim().slice(0, 60);
	const hidden = [...document.querySelectorAll('tr.more div')].filter((e) => box(e).right > box(e.closest('.scroll')).right).map(said);
	for (const svg of document.querySelectorAll('figure svg')) {
		const labels = [...svg.querySelectorAll('text')], b = box(svg);
		hidden.push(...labels.filter((e) => box(e).left < b.left || box(e).right > b.right).map(said));
		hidden.push(...labels.filter((e, i) => labels.slice(0, i).some((o) => Math.min(box(o).right, box(e).right) - Math.max(box(o).left, box(e).left) > 1 &&
			Math.min(box(o).bottom, box(e).bottom) - Math.max(box(o).top, box(e).top) > 3)).map(said));
	}
	return hidden;
}

try {
	if (what === 'axe') {
		const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
		for (const file of rest)
			for (const width of [1280, 320]) {
				const page = await open(file, width, 900);
				const wide = await page.evaluate(() => document.documentElement.scrollWidth);
				if (wide > width)
					faults.push(`${file} at ${width} px is ${wide} px wide`);
				// what stands below a row is read without scrolling; labels of a figure lie inside of it, and on no other
				for (const hidden of await page.evaluate(unread))
					faults.push(`${file} at ${width} px hides ${hidden}`);
				await page.evaluate(axe);
				const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
				for (const v of found.violations)
					faults.push(`${file} at ${width} px: ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | ')}`);
				await page.close();
			}
	} else {
		const [file, png, width, height] = rest;
		const page = await open(file, Number(width), Number(height));
		await page.screenshot({ path: png, clip: { x: 0, y: 0, width: Number(width), height: Number(height) } });
	}
} finally {
	await browser.close();
}
if (faults.length) {
	console.error(faults.join('\n'));
	process.exit(1);
}
