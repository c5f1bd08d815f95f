# in_browser.py - a page in headless Chromium: what the console says, and what expressions are
# in_browser.py [--dark] [--grey] [--width N] [--picture FILE] PAGE [EXPRESSION...]
# Prints each error and warning of the console, of the loading and of the policy as "console: ...", and each request but that for the page
# as "request: ...". Then each expression's value as a line of JSON. The pipe of Chromium's protocol has objects of JSON, each with a NUL.
import argparse, base64, json, os, pathlib, shutil, subprocess, sys, tempfile

options = argparse.ArgumentParser()
options.add_argument("--dark", action="store_true")
options.add_argument("--grey", action="store_true")
options.add_argument("--width", type=int, default=1200)
options.add_argument("--picture")
options.add_argument("page")
options.add_argument("expressions", nargs="*")
options = options.parse_args()
page = pathlib.Path(options.page).resolve().as_uri()

to_browser, ours_out = os.pipe()
ours_in, from_browser = os.pipe()


def pipes():
    a, b = os.dup(to_browser), os.dup(from_browser)   # neither may be 3 or 4 when they are overwritten
    while a in (3, 4) or b in (3, 4):
        a, b = (os.dup(a) if a in (3, 4) else a), (os.dup(b) if b in (3, 4) else b)
    os.dup2(a, 3)
    os.dup2(b, 4)


folder = tempfile.mkdtemp(prefix="bloomery-browser-")
browser = subprocess.Popen(
    [shutil.which("chromium"), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
     "--hide-scrollbars", "--user-data-dir=" + folder, "--remote-debugging-pipe", "about:blank"],
    preexec_fn=pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "HOME": folder})
os.close(to_browser)
os.close(from_browser)
buffer, number, events = b"", 0, []


def receive():
    global buffer
    while b"\0" not in buffer:
        some = os.read(ours_in, 1 << 20)
        if not some:
            sys.exit("chromium ended")
        buffer += some
    message, _, buffer = buffer.partition(b"\0")
    return json.loads(message)


def call(method, session=None, **parameters):
    global number
    number += 1
    message = {"id": number, "method": method, "params": parameters}
    if session:
        message["sessionId"] = session
    os.write(ours_out, json.dumps(message).encode() + b"\0")
    while True:
        got = receive()
        if got.get("id") == number:
            if "error" in got:
                sys.exit(f"{method}: {got['error']}")
            return got["result"]
        events.append(got)


def wait_for(method):
    while not any(e.get("method") == method for e in events):
        events.append(receive())


try:
    target = call("Target.createTarget", url="about:blank")["targetId"]
    session = call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in ("Page", "Runtime", "Log", "Network"):
        call(domain + ".enable", session)
    call("Emulation.setEmulatedMedia", session, features=[{"name": "prefers-color-scheme", "value": "dark" if options.dark else "light"}])
    call("Emulation.setDeviceMetricsOverride", session, width=options.width, height=900, deviceScaleFactor=1, mobile=options.width < 600)
    if options.grey:
        call("Emulation.setEmulatedVisionDeficiency", session, type="achromatopsia")
    call("Page.navigate", session, url=page)
    wait_for("Page.loadEventFired")
    values = [call("Runtime.evaluate", session, expression=e, returnByValue=True)["result"].get("value") for e in options.expressions]
    if options.picture:
        size = call("Page.getLayoutMetrics", session)["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 12000), "scale": 1}
        picture = call("Page.captureScreenshot", session, clip=clip, captureBeyondViewport=True)
        pathlib.Path(options.picture).write_bytes(base64.b64decode(picture["data"]))
    for event in events:
        method, what = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            print("console:", what["exceptionDetails"].get("exception", {}).get("description", what["exceptionDetails"]["text"]))
        elif method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            print("console:", what["entry"]["text"])
        elif method == "Runtime.consoleAPICalled":
            print("console:", what["type"], [a.get("value") for a in what["args"]])
        elif method == "Network.requestWillBeSent" and what["request"]["url"] != page:
            print("request:", what["request"]["url"])
    for value in values:
        print(json.dumps(value))
    call("Browser.close")
finally:
    os.close(ours_out)
    try:
        browser.wait(20)
    except subprocess.TimeoutExpired:
        browser.kill()
        browser.wait()
    shutil.rmtree(folder, ignore_errors=True)
