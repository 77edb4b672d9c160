#include "pipeline/runs/watch/watch.h"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <thread>
#include <utility>

#include "pipeline/base/config/run_folder.h"
#include "pipeline/runs/watch/event_line.h"
#include "pipeline/runs/watch/new_lines.h"
#include "pipeline/runs/watch/screen.h"
#include "pipeline/runs/watch/terminal.h"
#include "sampling/core/text.h"

namespace flowtrain::watch {
namespace {

constexpr std::size_t first_lines = 10;  // shown at first if there is no screen

struct Watched {
  explicit Watched(const std::filesystem::path& folder)
      : name(run_name(folder)), history(folder), log(folder), watcher(folder) {}

  void update() {
    summary = watcher.summary();
    history.update();
    log.update();
  }
  RunView view() const { return {name, summary, history, log}; }

  const std::string name;
  RunHistory history;
  LogTail log;
  RunWatcher watcher;
  RunSummary summary;
};

int print_once(Watched& run) {
  run.update();
  std::string text;
  for (auto& row : draw_screen(run.view(), {}, screen_size())) {
    auto line = row.text(wants_colour());
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  std::fputs(text.c_str(), stdout);
  return 0;
}

int show_screen(Watched& run, std::chrono::milliseconds refresh, const Interrupt& interrupt) {
  using Clock = std::chrono::steady_clock;
  Choices choices;
  Terminal terminal;
  auto next_update = Clock::now();
  while (!interrupt.requested()) {
    if (Clock::now() >= next_update) {
      run.update();
      next_update = Clock::now() + refresh;
    }
    terminal.show(draw_screen(run.view(), choices, screen_size()));
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next_update - Clock::now());
    // A wait ends after 200 ms at most, so that signals are noticed.
    const auto key = terminal.read_key(std::clamp(wait, std::chrono::milliseconds(0), std::chrono::milliseconds(200)));
    if (key == 'q') return 0;
    if (key) apply_key(*key, run.view(), screen_size(), choices);
  }
  return Interrupt::exit_code(*interrupt.requested());
}

int print_lines(Watched& run, std::chrono::milliseconds refresh, const Interrupt& interrupt) {
  NewLines news;
  std::uint64_t restarts = 0;
  for (bool first = true; !interrupt.requested(); first = false) {
    std::deque<std::string> lines;
    run.summary = run.watcher.summary();  // checked before the lines, as a run ends after its last line
    run.history.update([&](auto& line) {
      if (std::exchange(restarts, run.history.restarts()) != run.history.restarts()) news.restart();
      if (!news.takes(line)) return;
      if (auto text = event_line(line, run.summary); !text.empty()) lines.push_back(std::move(text));
      if (first && lines.size() > first_lines) lines.pop_front();
    });
    for (auto& line : lines) std::puts(Row(line).text(false).c_str());
    std::fflush(stdout);
    if (std::ferror(stdout)) return 0;  // the reader has gone
    if (run.summary.status != RunStatus::running) {
      std::puts(Row(concat(run.name, ": ", status_name(run.summary.status))).text(false).c_str());
      return 0;
    }
    const auto until = std::chrono::steady_clock::now() + refresh;
    while (std::chrono::steady_clock::now() < until && !interrupt.requested())
      std::this_thread::sleep_for(std::min(refresh, std::chrono::milliseconds(100)));
  }
  return Interrupt::exit_code(*interrupt.requested());
}

}  // namespace

int watch(const WatchOptions& options, Interrupt& interrupt) {
  require_run(options.run);
  Watched run(options.run);
  if (options.once) return print_once(run);
  interrupt.defer();  // the terminal must be given back
  return has_screen() ? show_screen(run, options.refresh, interrupt) : print_lines(run, options.refresh, interrupt);
}

}  // namespace flowtrain::watch
