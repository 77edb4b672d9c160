#include "pipeline/runs/report_page/report_page.h"
#include "pipeline/base/telemetry/graph_json.h"

#include <doctest/doctest.h>
#include <sys/file.h>
#include <unistd.h>

#include <fcntl.h>

#include <fstream>
#include <set>
#include <vector>

#include "pipeline/runs/report_page/page_files.h"
#include "tests/pipeline/runs/report_page/run_files.h"
#include "tests/support/read_text.h"

namespace flowtrain::report_page_test {

using namespace flowtrain::testing;

namespace {

// What is wrong with the page as HTML: elements that do not nest, attributes without quotes. Contents of scripts and
// styles end at their end tags, as in a browser.
std::string broken_html(const std::string& page) {
  const std::set<std::string> empty{"meta", "link", "!DOCTYPE"};
  std::vector<std::string> open;
  for (std::size_t at = page.find('<'); at != page.npos; at = page.find('<', at)) {
    const auto end = page.find('>', at);
    if (end == page.npos) return "a tag without its end";
    const std::string tag = page.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) return "</" + tag.substr(1) + "> in the wrong place";
      open.pop_back();
      continue;
    }
    if (occurrences(tag, "\"") % 2 != 0) return "quotes in <" + tag + ">";
    const std::string name = tag.substr(0, tag.find(' '));
    if (empty.contains(name)) continue;
    open.push_back(name);
    if (name == "script" || name == "style") at = page.find("</" + name, at);
  }
  return open.empty() ? "" : "<" + open.back() + "> is not closed";
}

constexpr const char* hostile[] = {
    "</script><script>alert(1)</script>", "<!--<script>", "\"'`${alert(1)}", "\u2028line\u2029",
    "<img src=x onerror=alert(1)>",       "a,b\\c",       "]]>&amp;&lt;"};

}  // namespace

TEST_CASE("report: a whole page that loads nothing, with one plotter") {
  TempFolder folder;
  write_run(folder, "run");
  const auto page = render_report({{folder.path() / "run"}}, {.page_folder = folder.path() / "run"});
  CHECK(broken_html(page) == "");
  CHECK(occurrences(page, "</script>") == 3);  // data, plotter, page
  CHECK(occurrences(page, "@license") == 1);
  for (const char* loads : {" src=\"", "@import", "<iframe", "sourceMappingURL"}) CHECK(occurrences(page, loads) == 0);
  CHECK(occurrences(page, "url(") == occurrences(page, "url(#"));  // within the page
  CHECK(occurrences(page, "href=") == occurrences(page, "href=\"data:,\"") + occurrences(page_files::plotter, "href=") +
                                          occurrences(page_files::script, "href="));
  CHECK(page_files::script.find("http") ==
        page_files::script.find("http://www.w3.org/2000/svg"));  // a name, no address
  CHECK(occurrences(page_files::script, "innerHTML") == 0);
}

TEST_CASE("report: the data say what the files say") {
  TempFolder folder;
  write_run(folder, "run");
  const auto run = ordered_json::parse(run_data({folder.path() / "run"}, {.page_folder = folder.path()}));
  CHECK(run["name"] == "tiny");
  CHECK(run["link"] == "run/");
  CHECK(run["status"] == ordered_json({{"state", "done"}, {"iter", 100}, {"seconds", 5.5}}));
  CHECK(run["iterations_per_epoch"] == 50);
  CHECK(run["verdict"]["text"] == "verdict cat");
  CHECK(run["train"]["iter"].size() == 10);
  CHECK(run["train"]["samples"][9] == 800);
  CHECK(run["train"]["series"]["loss"]["mean"][1] == 0.5);
  REQUIRE(run["best"].size() == 1);
  CHECK(run["best"][0]["metric"] == "accuracy");
  CHECK(run["best"][0]["value"] == 0.8);
  CHECK(run["best"][0]["iter"] == 100);
  CHECK(run["best"][0]["snapshot"] == nullptr);  // it is not there
  CHECK(run["extremes"]["loss"]["lower_wins"] == true);
  CHECK(run["extremes"]["accuracy"]["lower_wins"] == false);
  CHECK(run["events"][0] == ordered_json({{"kind", "snapshot"}, {"iter", 100}}));
  CHECK(run["confusion"]["rows"] == ordered_json({{5, 1}, {0, 7}}));
  CHECK(run["bad_samples"]["count"] == 1);
  CHECK(run["warnings"]["count"] == 2);
  REQUIRE(run["warnings"]["lines"].size() == 1);
  CHECK(run["warnings"]["lines"][0]["times"] == 2);
  const auto& sample = run["pictures"][0]["worst"][0];
  CHECK(sample["width"] == 3);
  CHECK(sample["height"] == 2);
  CHECK(sample["src"].get<std::string>().starts_with("data:image/png;base64,iVBORw0KGgo"));
}

TEST_CASE("report: names from files stay texts, whatever they are") {
  for (const std::string name : hostile) {
    CAPTURE(name);
    TempFolder folder;
    write_run(folder, "run", name);
    const auto page = render_report({{folder.path() / "run"}});
    CHECK(broken_html(page) == "");
    CHECK(occurrences(page, "</script>") == 3);
    const auto text = between(page, "id=\"data\">", "</script>");
    CHECK(text.find('<') == text.npos);
    CHECK(text.find("\u2028") == text.npos);
    const auto run = data_of(page)["runs"][0];
    CHECK(run["confusion"]["classes"][0] == name);
    CHECK(run["graph"]["nodes"][0]["name"] == name);
    CHECK(run["bad_samples"]["lines"][0]["reason"] == name);
    CHECK(run["warnings"]["lines"][0]["text"] == name);
    CHECK(run["train"]["series"].contains("net." + name));
    CHECK(run["environment"]["command"][1] == name);
  }
}

TEST_CASE("report: a folder's own name is escaped, and need not be UTF-8") {
  TempFolder folder;
  write_run(folder, "a<b>&\xff");
  const auto page = render_report({{folder.path() / "a<b>&\xff"}});
  CHECK(page.find("<title>a&lt;b>&amp;\\xFF – flowtrain</title>") != page.npos);
  CHECK(broken_html(page) == "");
}

TEST_CASE("report: of several runs, the keys that differ and no others") {
  TempFolder folder;
  write_run(folder, "a");
  write_run(folder, "b", "cat", "0.1");
  write_run(folder, "c", "cat", "0.1");
  folder.write("c/config.toml",
               "name = \"tiny\"\n[optim]\nlr = 0.1\nnesterov = true\n[val]\nmetrics = [\"accuracy\"]\n");
  const auto data = data_of(render_report({{folder.path() / "a"}, {folder.path() / "b"}, {folder.path() / "c"}}));
  CHECK(data["runs"].size() == 3);
  REQUIRE(data["differences"].size() == 2);
  CHECK(data["differences"][0] == ordered_json({{"key", "optim.lr"}, {"values", {"0.05", "0.1", "0.1"}}}));
  CHECK(data["differences"][1] == ordered_json({{"key", "optim.nesterov"}, {"values", {nullptr, nullptr, "true"}}}));
  CHECK(data_of(render_report({{folder.path() / "b"}}))["differences"].empty());
}

TEST_CASE("report: what is missing or damaged is left out") {
  TempFolder folder;
  folder.write("empty/run.lock", "");
  auto run = ordered_json::parse(run_data({folder.path() / "empty"}));
  CHECK(run["name"] == "empty");
  CHECK(run["status"]["state"] == "failed");
  CHECK(run["graph"] == nullptr);
  CHECK(run["pictures"].empty());
  CHECK(broken_html(render_report({{folder.path() / "empty"}, {folder.path() / "not there"}})) == "");

  write_run(folder, "run");
  for (const char* file : {"config.toml", "env.json", "graph.json", "result.json", "confusion.csv", "bad_samples.jsonl",
                           "pictures/iter-00000100/pictures.json"})
    folder.write(std::string("run/") + file, "{\"a\": [\xff, \n,,\"");
  folder.write("run/pictures/iter-00000200/pictures.json",
               R"({"iter":200,"samples":[5,{"file":"../../env.json"},{"file":"none.png"},{"file":"."}]})");
  run = ordered_json::parse(run_data({folder.path() / "run"}));
  CHECK(run["status"]["state"] == "done");  // metrics.jsonl says so, too
  CHECK(run["train"]["iter"].size() == 10);
  CHECK(run["confusion"] == nullptr);
  REQUIRE(run["pictures"].size() == 1);
  for (auto& sample : run["pictures"][0]["samples"])
    if (sample.is_object()) CHECK(!sample.contains("src"));
}

TEST_CASE("report: a torn last line is left out, and an earlier result is not this run's") {
  TempFolder folder;
  write_run(folder, "run");
  std::ofstream(folder.path() / "run" / "metrics.jsonl", std::ios::app)
      << "{\"kind\":\"train\",\"iter\":110,\"loss\":0.01}\n{\"kind\":\"train\",\"iter\":120,\"loss\":0.";
  const auto run = ordered_json::parse(run_data({folder.path() / "run"}));
  CHECK(run["train"]["iter"].size() == 11);
  CHECK(run["status"]["iter"] == 110);
  CHECK(run["status"]["state"] == "failed");
}

TEST_CASE("report: the best of a run that was killed is by the rules and directions that it wrote down") {
  TempFolder folder;
  write_run(folder, "run");
  const auto path = folder.path() / "run";
  std::ofstream lines(path / "metrics.jsonl", std::ios::app);
  lines << "{\"kind\":\"val\",\"iter\":110,\"distance\":3.5}\n{\"kind\":\"val\",\"iter\":120,\"distance\":4.5}\n";
  lines.close();
  auto graph = ordered_json::parse(read_text(path / "graph.json"));
  graph["best"] = {{"best", {{"metric", "distance"}, {"mode", "min"}}},
                   {"best-accuracy", {{"metric", "accuracy"}, {"mode", "max"}}}};
  folder.write("run/graph.json", graph.dump());
  folder.write("run/snapshots/iter-00000110/state.json", "{}");
  const auto run = ordered_json::parse(run_data({path}));
  REQUIRE(run["best"].size() == 2);
  CHECK(run["best"][0] ==
        ordered_json({{"metric", "distance"}, {"value", 3.5}, {"iter", 110}, {"snapshot", "snapshots/iter-00000110"}}));
  CHECK(run["best"][1]["value"] == 0.8);
  CHECK(run["extremes"]["distance"]["lower_wins"] == true);
  CHECK(run["extremes"]["distance"]["best"] == 3.5);
}

TEST_CASE("report: members of another type than theirs are as if they were missing") {
  TempFolder folder;
  write_run(folder, "run");
  folder.write("run/result.json", R"({"iteration":100,"ended":3,"why":[],"seconds":"x","best":{"metric":7}})");
  folder.write("run/env.json", R"({"gpus":[null,{"name":"H100"}]})");
  folder.write("run/graph.json", R"({"nodes":[{"name":5}],"edges":[],"metrics":[1],"best":{"best":3}})");
  folder.write("run/pictures/iter-00000100/pictures.json",
               R"({"iter":100,"samples":"x","worst":[{"boxes":[1,{}]},2]})");
  const auto run = ordered_json::parse(run_data({folder.path() / "run"}));
  CHECK(run["status"] == ordered_json({{"state", "done"}, {"iter", 100}}));
  CHECK(run["best"].empty());
  CHECK(run["graph"] == nullptr);
  CHECK(run["environment"]["gpus"] == ordered_json::parse(R"([{"name":"H100"}])"));
  CHECK(run["pictures"][0]["samples"].empty());
  CHECK(run["pictures"][0]["worst"] == ordered_json::parse(R"([{"boxes":[{}]}])"));
}

TEST_CASE("report: a folder that is named with a slash at its end has its name") {
  TempFolder folder;
  write_run(folder, "run");
  CHECK(render_report({{folder.path() / "run/"}}).find("<title>run – flowtrain</title>") != std::string::npos);
}

TEST_CASE("report: a run whose lock is held goes on; its own process knows better") {
  TempFolder folder;
  write_run(folder, "run");
  const auto path = folder.path() / "run";
  const auto state = [&](ReportedRun::State seen, const std::string& error = {}) {
    return ordered_json::parse(run_data({path, seen, error}))["status"]["state"].get<std::string>();
  };
  const int lock = ::open((path / "run.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  REQUIRE(::flock(lock, LOCK_EX | LOCK_NB) == 0);
  CHECK(state(ReportedRun::State::unknown) == "running");
  CHECK(state(ReportedRun::State::over) == "done");
  CHECK(state(ReportedRun::State::over, "the disk is full") == "failed");
  ::close(lock);
  CHECK(state(ReportedRun::State::unknown) == "done");
}

TEST_CASE("report: 100,000 lines make a page below 1.5 MB") {
  TempFolder folder;
  write_run(folder, "run");
  std::ofstream lines(folder.path() / "run" / "metrics.jsonl");
  for (int i = 1; i <= 100'000; ++i) {
    const double x = 1 + 0.1 * ((i * 7919) % 1000) / 1000.0;
    lines << "{\"kind\":\"train\",\"iter\":" << i;
    for (const char* name : {"loss",           "lr",
                             "samples_per_s",  "data_wait",
                             "loss_avg",       "data_time",
                             "step_time",      "grad_norm",
                             "clipped",        "elapsed_s",
                             "samples",        "step_p50",
                             "step_p99",       "time.transfer",
                             "time.forward",   "time.backward",
                             "time.optimizer", "host_memory_mb",
                             "queue_fill",     "limit_share"})
      lines << ",\"" << name << "\":" << x * (1 + i % 3);
    lines << "}\n";
  }
  lines.close();
  const auto page = render_report({{folder.path() / "run"}});
  CHECK(page.size() < 1'500'000);
  CHECK(data_of(page)["runs"][0]["train"]["iter"].back() == 100'000);
}

TEST_CASE("graph.json: nodes and edges of the drawing, and the run's shape") {
  const Drawing drawing{{{"plan", "plan\nx", false}, {"compute", "compute", true}},
                        {{"plan", "compute", "queue of 4"}}};
  const auto graph = ordered_json::parse(
      graph_json(drawing, {125, 700, 64, {{"loss", true}, {"accuracy", false}}, {{"best", {"accuracy", false}}}}));
  CHECK(graph["nodes"][1] == ordered_json({{"name", "compute"}, {"label", "compute"}, {"thread", true}}));
  CHECK(graph["edges"][0] == ordered_json({{"from", "plan"}, {"to", "compute"}, {"label", "queue of 4"}}));
  CHECK(graph["iterations_per_epoch"] == 125);
  CHECK(graph["last_iteration"] == 700);
  CHECK(graph["batch"] == 64);
  CHECK(graph["metrics"] == ordered_json({{"loss", "min"}, {"accuracy", "max"}}));
  CHECK(graph["best"]["best"] == ordered_json({{"metric", "accuracy"}, {"mode", "max"}}));
}

}  // namespace flowtrain::report_page_test
