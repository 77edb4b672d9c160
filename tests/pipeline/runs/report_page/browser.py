#!/usr/bin/env python3
"""Opens pages of `flowtrain report` in Chromium, without a window: no message on the console, and the charts are there.

usage: browser.py BUILD_FOLDER
Skipped, with the reason, where there is no Chromium or the program is not built.
"""
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "support"))
from browser_tests import program_or_skip  # noqa: E402

HOSTILE = ["</script><script>document.title='hacked'</script>", '"\'`', "\u2028",
           "<img src=x onerror=document.title='hacked'>"]


def write_run(folder, lr, name):
    os.makedirs(folder + "/snapshots")
    with open(folder + "/config.toml", "w") as file:
        file.write(f'name = "browser"\n[optim]\nlr = {lr}  # a.toml:3:1\n[val]\nmetrics = ["accuracy"]\n')
    with open(folder + "/metrics.jsonl", "w") as file:
        for i in range(1, 101):
            line = {"kind": "train", "iter": 10 * i, "epoch": 1, "loss": 2 / i, "lr": lr, "samples_per_s": 100 + i % 7,
                    "data_wait": 0.1, "data_time": 0.01 if i < 100 else 10, "step_time": 0.09, "grad_norm": 1 / i,
                    "elapsed_s": i, "samples": 640 * i, "queue_fill": 0.5}
            file.write(json.dumps(line) + "\n")
            if i % 20 == 0:
                file.write(json.dumps({"kind": "val", "iter": 10 * i, "loss": 3 / i, "accuracy": i / 100,
                                       "accuracy." + name: i / 110}) + "\n")
        file.write(json.dumps({"kind": "resume", "iter": 400}) + "\n")
    names = ["plan", "compute", name]
    graph = {"iterations_per_epoch": 500, "last_iteration": 1000,
             "nodes": [{"name": each, "label": each + "\nwork", "thread": True} for each in names],
             "edges": [{"from": "plan", "to": "compute", "label": "queue"},
                       {"from": "compute", "to": "plan", "label": ""}, {"from": "compute", "to": name, "label": name}]}
    json.dump(graph, open(folder + "/graph.json", "w"))
    with open(folder + "/confusion.csv", "w") as file:
        quoted = '"' + name.replace('"', '""') + '"'
        file.write(f"label,{quoted},dog\n{quoted},5,1\ndog,2,9\n")
    os.makedirs(folder + "/pictures/iter-00000500")
    fields = [{"name": name, "text": "read: " + name}, {"name": "empty"}, 3]
    samples = [{"id": 7, "label": name, "prediction": name, "score": 0.5, "fields": fields}]
    json.dump({"iter": 500, "set": "val", "samples": samples, "worst": samples},
              open(folder + "/pictures/iter-00000500/pictures.json", "w"))
    with open(folder + "/bad_samples.jsonl", "w") as file:
        file.write(json.dumps({"iter": 3, "id": 1, "name": name, "reason": name}) + "\n")


class Browser:
    """Chromium without a window, asked over its debugging pipe: JSON texts that end with a zero byte."""

    def __init__(self, profile):
        read_here, write_there = os.pipe()
        read_there, write_here = os.pipe()
        command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + profile,
                   "--remote-debugging-pipe"]
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{read_there} 4>&{write_there}', "sh", *command],
            pass_fds=(read_there, write_there), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(read_there)
        os.close(write_there)
        self.answers, self.asks = os.fdopen(read_here, "rb"), os.fdopen(write_here, "wb")
        self.number, self.unread, self.events, self.session = 0, b"", [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log"]:
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=1280, height=8000, deviceScaleFactor=1, mobile=False)

    def close(self):
        self.process.terminate()
        self.process.wait(30)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.asks.write(json.dumps(message).encode() + b"\0")
        self.asks.flush()
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                return answer["result"]
            self.events.append(answer)

    def read(self):
        while b"\0" not in self.unread:
            more = self.answers.read1(1 << 16)
            if not more:
                raise RuntimeError("chromium has ended")
            self.unread += more
        text, self.unread = self.unread.split(b"\0", 1)
        return json.loads(text)

    def value(self, expression):
        return self.call("Runtime.evaluate", expression=expression)["result"].get("value")

    def open(self, page, charts):
        """Opens a page, and waits until so many charts are drawn, or a minute. Returns what went to the console."""
        self.events.clear()
        self.call("Page.navigate", url="file://" + page)
        for _ in range(600):
            if (self.value("document.querySelectorAll('.plot canvas').length") or 0) >= 2 * charts:  # two canvases each
                break
            time.sleep(0.1)
        kinds = ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"]
        return [json.dumps(event["params"])[:400] for event in self.events if event["method"] in kinds]


def check(browser, page, charts, texts):
    failures = ["console: " + line for line in browser.open(page, charts)]
    drawn = browser.value("[...document.querySelectorAll('.plot')].filter(e => e.querySelector('canvas')).length")
    if drawn < charts:
        failures.append(f"{drawn} charts are drawn, not {charts}")
    html = browser.value("document.querySelector('#main').outerHTML") or ""
    failures += [f"'{text}' is not on the page" for text in texts if text not in html]
    if browser.value("document.title").startswith("hacked") or browser.value("!!document.querySelector('[onerror]')"):
        failures.append("a name was taken for markup")
    for failure in failures:
        print(f"{page}: {failure}")
    return not failures


def check_damaged(browser):
    """Of the page that is open: a part that cannot be drawn says so, and the others stay."""
    main = browser.value("""(() => {
      const data = JSON.parse(document.getElementById('data').textContent);
      Object.assign(data.runs[0], {graph: {nodes: [null]}, confusion: {classes: 3, rows: [null]}});
      window.flowtrain.update(data);
      return document.querySelector('#main').innerText;
    })()""") or ""
    good = main.count("This part cannot be drawn") == 2 and "Learning rate" in main and "Reproduce" in main
    if not good:
        print("a damaged part costs other parts: " + main[:500])
    return good


def check_print(browser, folder):
    """Of the page that is open: the charts are on paper, as poppler shows it."""
    def coloured():
        with open(folder + "/page.pdf", "wb") as file:
            file.write(base64.b64decode(browser.call("Page.printToPDF")["data"]))
        picture = subprocess.run(["pdftoppm", "-r", "50", "-l", "2", folder + "/page.pdf"], check=True,
                                 stdout=subprocess.PIPE).stdout
        return sum(max(picture[i:i + 3]) - min(picture[i:i + 3]) > 60 for i in range(15, len(picture) - 2, 3))
    whole = coloured()
    browser.value("for (const each of document.querySelectorAll('canvas')) each.style.visibility = 'hidden'")
    bare = coloured()
    if whole < 1.5 * bare:
        print(f"printed charts are empty: {whole} coloured pixels, {bare} without charts")
    return whole >= 1.5 * bare


def main():
    program = program_or_skip()
    good = True
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(folder + "/profile")
        try:
            runs = []
            for i, name in enumerate(HOSTILE):
                runs.append(f"{folder}/run{i}")
                write_run(runs[i], 0.1 / (i + 1), name)
                subprocess.run([program, "report", runs[i]], check=True, stdout=subprocess.DEVNULL)
                good &= check(browser, runs[i] + "/report.html", 7,
                              ['class="graph"', 'class="confusion"', "Learning rate", 'class="field"', "read: "])
                head = browser.value("document.querySelector('#head').innerText") or ""
                if "55\u00a0%" not in head:  # 11 of 20 seconds; the mean of the lines' shares is 10 %
                    print("the data wait is not by time: " + head)
                    good = False
            if shutil.which("pdftoppm"):
                good &= check_print(browser, folder)
            good &= check_damaged(browser)
            page = folder + "/all.html"
            subprocess.run([program, "report", *runs, "--out", page], check=True, stdout=subprocess.DEVNULL)
            good &= check(browser, page, 5, ["optim.lr", "run3"])
        finally:
            browser.close()
    sys.exit(0 if good else 1)


main()
