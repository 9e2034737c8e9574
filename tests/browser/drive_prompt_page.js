// Does on the prompt page what a person does: points, saves, paints, erases, saves. Prints what went wrong in the page.
// Called as: node drive_prompt_page.js ADDRESS CHROMIUM, with a plan as JSON on standard input.
const { readFileSync } = require("node:fs");
const { chromium } = require("playwright-core");

const [address, executablePath] = process.argv.slice(2);
const plan = JSON.parse(readFileSync(0, "utf8"));
const args = [
  "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--disable-default-apps", "--no-first-run",
];

async function main() {
  const browser = await chromium.launch({ executablePath, args, timeout: 30000 });
  const page = await browser.newPage({ viewport: { width: 1200, height: 1000 } });
  page.setDefaultTimeout(20000);
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (!/^(http:\/\/127\.0\.0\.1:|blob:|data:)/.test(request.url())) wrong.push(`outside: ${request.url()}`);
  });

  const answered = (path) => page.waitForResponse((answer) => answer.url().includes(path));
  const at = async ([x, y]) => {
    const box = await page.locator("#view").boundingBox();
    const width = await page.evaluate("picture.width");
    return [box.x + 1 + (x * (box.width - 2)) / width, box.y + 1 + (y * (box.width - 2)) / width]; // a border of 1 px
  };
  const click = async (tool, xy) => {
    await page.locator(`[data-tool=${tool}]`).click();
    await page.mouse.click(...(await at(xy)));
  };
  const turnTo = async (step) => {
    const shown = answered(`step=${step}&object=`);
    await page.locator("#step").fill(String(step));
    await shown;
    await page.waitForFunction((n) => document.getElementById("at").textContent === n, String(step));
  };
  const save = async (button, says) => {
    await page.locator(button).click();
    await page.waitForFunction((text) => document.getElementById("says").textContent === text, says);
  };

  await page.goto(address);
  await page.waitForFunction("picture !== null");
  await page.locator("#object").fill(plan.object);
  await page.locator("#object").press("Tab");
  await page.locator("#words").fill(plan.words);
  await turnTo(plan.point_step);
  for (const [tool, xy] of plan.points) {
    const previewed = answered("/api/preview");
    await click(tool, xy);
    await previewed;
  }
  await save("#savePrompt", "Saved to twin.toml.");

  await turnTo(plan.paint_step);
  await page.locator("#brush").fill(String(plan.brush));
  await page.locator("[data-tool=paint]").click();
  await page.mouse.move(...(await at(plan.stroke[0])));
  await page.mouse.down();
  await page.mouse.move(...(await at(plan.stroke[1])), { steps: 30 });
  await page.mouse.up();
  await click("erase", plan.erase);
  await save("#saveMask", "Saved the correction.");
  await browser.close();
  console.log(JSON.stringify({ wrong }));
}

main().catch((error) => { console.error(error); process.exit(1); });
