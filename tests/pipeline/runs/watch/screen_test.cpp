#include "pipeline/runs/watch/screen.h"

#include <doctest/doctest.h>
#include <locale.h>

#include <cmath>
#include <memory>

#include "pipeline/runs/watch/event_line.h"
#include "pipeline/runs/watch/new_lines.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::screen_test {

using namespace flowtrain::watch;

namespace {

// A run of 400 iterations with validations, or what is there of it.
struct WatchedRun {
  explicit WatchedRun(int lines = 200, const std::string& more = "") {
    ::setlocale(LC_CTYPE, "C.UTF-8");
    std::string text;
    for (int i = 1; i <= lines; ++i) {
      const int iteration = 2 * i;
      text += "{\"kind\":\"train\",\"iter\":" + std::to_string(iteration) +
              ",\"epoch\":1,\"loss\":" + std::to_string(2 * std::exp(-0.01 * i)) +
              ",\"lr\":0.05,\"samples_per_s\":1000,\"data_wait\":0.01,\"data_time\":0.001,\"step_time\":0.1,"
              "\"limit\":\"read\",\"limit_share\":0.625,\"queue_fill\":0.25}\n";
      if (i % 50 == 0)
        text += "{\"kind\":\"val\",\"iter\":" + std::to_string(iteration) +
                ",\"loss\":1.5,\"accuracy\":" + std::to_string(0.5 + 0.001 * i) + "}\n";
    }
    folder.write("run/config.toml", "[run]\nmax_iter = 800\n[val]\nmetrics = [\"accuracy\"]\n");
    folder.write("run/metrics.jsonl", text + more);
    folder.write("run/train.log",
                 "2026-11-26 01:07:10.740 info    data: 8,000 samples\n"
                 "2026-11-26 01:07:11.740 debug   iter 1/800\n"
                 "2026-11-26 01:07:11.740 info    iter 2/800\n"
                 "2026-11-26 01:07:12.740 warning a picture \033[2J is bad\n");
    folder.write("run/graph.json",
                 R"({"metrics":{"accuracy":"max"},"best":{"best":{"metric":"accuracy","mode":"max"}}})");
    summary = RunWatcher(folder.path() / "run").summary();
    history = std::make_unique<RunHistory>(folder.path() / "run");
    history->update();
    log = std::make_unique<LogTail>(folder.path() / "run");
    log->update();
  }

  RunView view() const { return {"run", summary, *history, *log}; }
  std::string draw(const ScreenSize& size, const Choices& choices = {}) const {
    std::string text;
    const auto rows = draw_screen(view(), choices, size);
    CHECK(rows.size() == static_cast<std::size_t>(size.rows));
    for (auto& row : rows) {
      CHECK(row.width() <= size.columns);
      text += row.text(false) + "\n";
    }
    return text;
  }

  TempFolder folder;
  RunSummary summary;
  std::unique_ptr<RunHistory> history;
  std::unique_ptr<LogTail> log;
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a screen has status, progress, limit, two charts, messages and keys") {
  const WatchedRun run;
  const auto text = run.draw({120, 40});
  CAPTURE(text);
  CHECK(has(text, " run  failed"));
  CHECK(has(text, "50% ["));
  CHECK(has(text, "400/800"));
  CHECK(has(text, "limited by read 62 %  batches ready 25 %"));
  CHECK(has(text, " loss  0.2707  o validation 1.5000"));
  CHECK(has(text, " accuracy  o validation 0.7000  * best 0.7000 at 400"));
  CHECK(has(text, "01:07:10 data: 8,000 samples"));
  CHECK(!has(text, "iter 1/800"));
  CHECK(!has(text, "iter 2/800"));
  CHECK(has(text, "a picture  [2J is bad"));  // the escape character is gone
  CHECK(!has(text, "\033"));
  CHECK(has(text, "⣀"));
  CHECK(has(text, "q quit  tab metric  z zoom: all  x axis: iteration  l log y: off"));
}

TEST_CASE("a small screen has one chart, and any size works") {
  const WatchedRun run, begun(0), short_run(1);
  const auto text = run.draw({40, 15});
  CAPTURE(text);
  CHECK(has(text, " loss  0.2707"));
  CHECK(!has(text, " accuracy"));
  for (const int columns : {1, 2, 5, 9, 13, 14, 20, 39, 60, 79, 200, 400})
    for (const int rows : {1, 2, 3, 4, 5, 7, 11, 12, 19, 20, 30, 80})
      for (auto* each : {&run, &begun, &short_run}) {
        each->draw({columns, rows});
        each->draw({columns, rows, false}, {.log_y = true, .zoom = 3});
      }
  CHECK(has(begun.draw({80, 24}), "no values yet"));
}

TEST_CASE("without Unicode, charts are of ASCII") {
  const WatchedRun run;
  for (const char c : run.draw({80, 24, false}))
    if (static_cast<unsigned char>(c) >= 0x80) FAIL("not ASCII");
}

TEST_CASE("keys go through metrics, axes and zooms") {
  const WatchedRun run(200, "{\"kind\":\"epoch\",\"iter\":400,\"epoch\":2,\"loss\":1.0}\n");
  const ScreenSize size{100, 30};
  Choices choices;
  apply_key(key_left, run.view(), size, choices);
  CHECK(choices.metric == "loss");
  apply_key('\t', run.view(), size, choices);
  CHECK(choices.metric == "accuracy");
  for (int i = 0; i < 100; ++i) {
    apply_key(key_right, run.view(), size, choices);
    CHECK(has(run.draw(size, choices), " " + *choices.metric));
  }
  apply_key('x', run.view(), size, choices);
  CHECK(choices.axis == Axis::epoch);
  CHECK(has(run.draw(size, choices), "epoch 2.0"));
  apply_key('x', run.view(), size, choices);  // neither samples nor time are known
  CHECK(choices.axis == Axis::iteration);
  apply_key('l', run.view(), size, choices);
  CHECK(has(run.draw(size, choices), "(log)"));
  apply_key('z', run.view(), size, choices);
  CHECK(has(run.draw(size, choices), "zoom: last half"));
  CHECK(has(run.draw(size, choices), "200"));
  for (int i = 0; i < 3; ++i) apply_key('z', run.view(), size, choices);
  CHECK(choices.zoom == 0);
}

TEST_CASE("the verdict stands in the place of the limit when the run has ended") {
  const WatchedRun run(200,
                       "{\"kind\":\"verdict\",\"iter\":400,\"text\":\"Reading limits the run.\"}\n"
                       "{\"kind\":\"end\",\"iter\":400}\n");
  const auto text = run.draw({80, 24});
  CHECK(has(text, " run  done"));
  CHECK(has(text, " Reading limits the run."));
  CHECK(!has(text, "limited by"));
}

TEST_CASE("rows are cut by columns, not by bytes") {
  ::setlocale(LC_CTYPE, "C.UTF-8");
  Row row("äöü漢字");
  CHECK(row.width() == 7);
  row.cut(4);
  CHECK(row.text(false) == "äöü");  // half of a wide character has no room
  CHECK(Row("a\xFF\x80z\n\t").text(false) == "a??z  ");
  CHECK(Row("x\u202E\u2066y").text(false) == "x  y");
  Row styled("red", Style::bad);
  CHECK(styled.add(" and plain").text(true) == "\033[31mred\033[0m and plain");
}

TEST_CASE("lines that come again after a resume are shown once") {
  NewLines news;
  const auto takes = [&](const std::string& kind, int iteration) {
    return news.takes({{"kind", kind}, {"iter", iteration}});
  };
  CHECK(takes("train", 10));
  CHECK(takes("val", 10));
  CHECK(takes("resume", 10));
  for (int i = 20; i <= 50; i += 10) CHECK(takes("train", i));
  news.restart();  // cut back to 30
  CHECK(!takes("train", 10));
  CHECK(!takes("val", 10));
  CHECK(!takes("resume", 10));
  CHECK(!takes("train", 20));
  CHECK(!takes("train", 30));
  CHECK(takes("resume", 30));
  CHECK(takes("train", 40));  // it is done again, and the line before says why
  news.restart();             // killed again at once
  for (const int i : {10, 20, 30}) CHECK(!takes("train", i));
  CHECK(!takes("resume", 10));
  CHECK(!takes("resume", 30));
  CHECK(takes("resume", 30));
  CHECK(takes("train", 40));
}

TEST_CASE("lines of metrics as text") {
  const RunSummary summary{.status = RunStatus::running, .last_iteration = 100};
  const auto line = [&](const char* text) { return event_line(nlohmann::ordered_json::parse(text), summary); };
  CHECK(line(R"({"kind":"train","iter":20,"epoch":1,"loss":1.5,"lr":0.1})") ==
        "iter 20/100  epoch 1  loss 1.5000  lr 0.1");
  CHECK(line(R"({"kind":"val","iter":20,"loss":1.5,"accuracy":0.25})") ==
        "validation at iteration 20: loss 1.5000  accuracy 0.2500");
  CHECK(line(R"({"kind":"resume","iter":20})") == "resume at iteration 20");
  CHECK(line(R"({"kind":"verdict","iter":20,"text":"Reading limits."})") == "Reading limits.");
  CHECK(line(R"({"kind":"epoch","iter":20,"epoch":1})").empty());
  CHECK(line(R"({"kind":7,"iter":20})").empty());
  CHECK(line("{}").empty());
}

}  // namespace flowtrain::screen_test
