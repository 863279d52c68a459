"""Walks through the pages of a running server in Chromium, as a user does, and checks each page.

Usage: browse.py BASE_URL ADMIN_KEY PAGES.json FOLDER

Prints one JSON object: the result of each walk, and the faults of each page (console messages, requests beyond this machine, findings of
axe-core). Screenshots at 1400 and 390 pixels are written to FOLDER.
"""

import json
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

BASE, KEY, PAGES, FOLDER = sys.argv[1], sys.argv[2], json.loads(Path(sys.argv[3]).read_text()), Path(sys.argv[4])
AXE = next((Path(path) / "axe_core_python" / "axe.min.js" for path in sys.path if (Path(path) / "axe_core_python" / "axe.min.js").is_file()), None)


def wait_until_ready():
    for _ in range(600):
        try:
            with urllib.request.urlopen(BASE + "/readyz", timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the server is not ready after a minute")


def browser(width, height):
    options = Options()
    options.binary_location = "/usr/bin/chromium"
    for flag in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
                 "--disable-sync", "--no-first-run", f"--window-size={width},{height}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    driver.set_page_load_timeout(60)
    return driver


def requested(driver):
    """Returns the hosts that pages requested since the last call."""
    hosts = set()
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            url = urllib.parse.urlsplit(message["params"]["request"]["url"])
            if url.scheme in ("http", "https", "ws", "wss"):
                hosts.add(url.hostname)
    return hosts


def complaints(driver):
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


def click(driver, selector, text=None):
    """Clicks the first element of a selector, or the first one that contains a text."""
    def found(_):
        for element in driver.find_elements(By.CSS_SELECTOR, selector):
            if text is None or text in element.text:
                return element
        return False
    element = WebDriverWait(driver, 10).until(found)
    before = driver.current_url
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    driver.execute_script("window.isOld = true")
    element.click()
    WebDriverWait(driver, 10).until(lambda d: d.current_url != before or not d.execute_script("return window.isOld"))
    WebDriverWait(driver, 10).until(lambda d: d.execute_script("return document.readyState") == "complete")


def text_of(driver, selector):
    return WebDriverWait(driver, 10).until(lambda d: d.find_element(By.CSS_SELECTOR, selector)).text


def search(driver, words):
    driver.get(BASE + "/")
    box = driver.find_element(By.CSS_SELECTOR, "main input[type=search]")
    box.send_keys(words)
    click(driver, "main form[role=search] button")


def company_to_match(driver):
    search(driver, "AAPL")
    if "/company/" not in driver.current_url:
        click(driver, "td a[href^='/company/']")
    click(driver, ".figure a")
    click(driver, "#replay-now")
    return text_of(driver, "#verdict strong")


def zip_to_bytes(driver):
    search(driver, "90210")
    if "/zip/90210" not in driver.current_url:
        click(driver, "a[href='/zip/90210']")
    click(driver, "#population .figure a")
    return [element.text for element in driver.find_elements(By.CSS_SELECTOR, "#source-1 pre mark")]


def status_to_reason(driver):
    driver.get(BASE + "/")
    click(driver, "nav a", "Status")
    return [element.text for element in driver.find_elements(By.CSS_SELECTOR, ".reason")]


def key_to_revoked(driver):
    driver.get(BASE + "/keys")
    driver.find_element(By.CSS_SELECTOR, "#key").send_keys(KEY)
    click(driver, "main form button", "Sign in")
    driver.find_element(By.CSS_SELECTOR, "#name").send_keys("browser")
    click(driver, "#create")
    key = text_of(driver, "#new-key")
    ask = "const done = arguments[1]; fetch('/v1/zip/90210', {cache: 'no-store', headers: {'X-API-Key': arguments[0]}}).then(answer => done(answer.status))"
    used = driver.execute_async_script(ask, key)
    row = [row for row in driver.find_elements(By.CSS_SELECTOR, "tbody tr") if row.text.startswith("browser")][0].get_attribute("id")
    click(driver, f"#{row} button")
    state = driver.find_element(By.CSS_SELECTOR, f"#{row}").text
    # The server accepts a revoked key for up to a quarter of a second.
    revoked = WebDriverWait(driver, 5).until(lambda d: (status := d.execute_async_script(ask, key)) != 200 and status)
    seen = driver.execute_script("return document.cookie")
    click(driver, "main form button", "Sign out")
    return {"used": used, "revoked": revoked, "state": "revoked" in state, "cookie": seen}


def look(driver, width, path):
    driver.get(BASE + path)
    found = []
    if AXE:
        driver.execute_script(AXE.read_text())
        axe = driver.execute_async_script("const done = arguments[0]; axe.run(document).then(done, error => done({violations: [{id: String(error), impact: 'critical', nodes: []}]}))")
        for violation in axe["violations"]:
            if violation["impact"] in ("serious", "critical"):
                found.append({"id": violation["id"], "nodes": [node["html"][:200] for node in violation["nodes"][:3]]})
    wide = driver.execute_script("return document.documentElement.scrollWidth > document.documentElement.clientWidth")
    name = urllib.parse.quote(path.strip("/") or "start", safe="").replace("%", "_")[:80]
    height = min(driver.execute_script("return document.documentElement.scrollHeight"), 6000)
    driver.set_window_size(width, height + 150)
    driver.save_screenshot(str(FOLDER / f"{name}-{width}.png"))
    driver.set_window_size(width, 900)
    return {"path": path, "axe": found, "console": complaints(driver), "is_wider": wide, "title": driver.title}


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    report = {"has_axe": AXE is not None, "walks": {}, "pages": [], "hosts": []}
    wait_until_ready()
    hosts = set()
    driver = browser(1400, 900)
    try:
        for walk in [company_to_match, zip_to_bytes, status_to_reason, key_to_revoked]:
            try:
                report["walks"][walk.__name__] = walk(driver)
            except Exception as error:  # The report names the walk; the test fails on it.
                report["walks"][walk.__name__] = f"{type(error).__name__} at {driver.current_url}: {str(error)[:300]}"
            # Requests of a walk that are refused on purpose do not count as complaints of a page.
            complaints(driver)
            hosts |= requested(driver)
    finally:
        driver.quit()
    for width in (1400, 390):
        driver = browser(width, 900)
        if width < 500:
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": True})
        try:
            for path in PAGES:
                report["pages"].append({"width": width, **look(driver, width, path)})
                hosts |= requested(driver)
        finally:
            driver.quit()
    report["hosts"] = sorted(host for host in hosts if host)
    print(json.dumps(report))


main()
