#include "pipeline/base/telemetry/progress.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "pipeline/base/telemetry/console.h"
#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/log.h"
#include "sampling/core/error.h"

namespace flowtrain {
namespace {

using namespace std::chrono_literals;

constexpr auto redraw_interval = 100ms;
constexpr int bar_min = 8, bar_max = 30;  // cells between the brackets

// A piece of the line; the highest `drop` goes first if there is no room.
struct LinePart {
  std::string text;
  int drop = 0;
};

std::string rate(double per_s) {
  if (!std::isfinite(per_s) || per_s < 0 || per_s > 1e18) return "?";
  return per_s < 10 ? printed("%.1f", per_s) : format_count(static_cast<std::uint64_t>(std::llround(per_s)));
}

// Returns "limit compute 99.6 %", "limit sample 97 %, wait 12.0 %" (short: "limit sample 97 %"), or "data wait 12.0 %".
std::string limit_text(const Progress& p, bool is_short) {
  const std::string wait = p.data_wait ? printed("wait %.1f %%", 100 * *p.data_wait) : "";
  if (p.limit.empty()) return wait.empty() ? "" : "data " + wait;
  const bool computes = p.limit == "compute";
  const auto limit = printed("limit %s %.*f %%", p.limit.c_str(), computes ? 1 : 0, 100 * p.limit_share);
  return computes || is_short || wait.empty() ? limit : concat(limit, ", ", wait);
}

std::vector<LinePart> common_parts(const Progress& p, bool is_short) {
  std::vector<LinePart> parts;
  if (p.epoch) parts.push_back({concat("epoch ", *p.epoch), 5});
  if (p.loss) parts.push_back({"loss " + format_loss(*p.loss), 1});
  if (p.lr) parts.push_back({concat("lr ", *p.lr), 6});
  if (p.samples_per_s) parts.push_back({rate(*p.samples_per_s) + " samples/s", 3});
  if (auto limit = limit_text(p, is_short); !limit.empty()) parts.push_back({std::move(limit), 4});
  if (p.cpu_share)
    parts.push_back(
        {printed(is_short ? "cpu %.0f %%" : "got %.0f %% of the CPU time it asked for", 100 * *p.cpu_share), 3});
  if (p.slowest_rank) parts.push_back({concat("slowest rank ", *p.slowest_rank), 7});
  if (p.eta_s && p.iter != p.max_iter) parts.push_back({"eta " + format_duration(*p.eta_s), 2});
  return parts;
}

std::string joined(const std::vector<LinePart>& parts) { return join(parts, "  ", &LinePart::text); }

double share_done(const Progress& p) {
  return std::min(1.0, static_cast<double>(p.iter) / static_cast<double>(p.max_iter));
}

// Returns "[====>     ] ", or an empty text if fewer than bar_min cells fit.
std::string bar(double share, int room) {
  int cells = std::min(bar_max, room - 3);
  if (cells < bar_min) return "";
  int filled = static_cast<int>(share * cells);
  std::string line(static_cast<std::size_t>(filled), '=');
  if (filled < cells) line += '>';
  line.resize(static_cast<std::size_t>(cells), ' ');
  return "[" + line + "] ";
}

}  // namespace

std::string format_line(const Progress& p) {
  auto parts = common_parts(p, false);
  auto iter = concat("iter ", p.iter);
  if (p.max_iter > 0) iter += concat("/", p.max_iter);
  parts.insert(parts.begin(), {iter, 0});
  return joined(parts);
}

std::string format_bar(const Progress& p, int columns) {
  // The last column stays free: a character there makes some terminals wrap.
  int room = std::max(0, columns - 1);
  auto parts = common_parts(p, true);
  if (p.queue_fill) parts.push_back({printed("queue %.0f %% full", 100 * *p.queue_fill), 8});
  std::string percent;
  if (p.max_iter > 0) {
    percent = printed("%3.0f%% ", std::floor(100 * share_done(p)));
    auto iter = format_count(p.iter), of = format_count(p.max_iter);
    iter.insert(0, of.size() - std::min(of.size(), iter.size()), ' ');  // keeps the length of the bar
    parts.insert(parts.begin(), {iter + "/" + of, 0});
  } else {
    parts.insert(parts.begin(), {"iter " + format_count(p.iter), 0});
  }
  auto length = [&] { return static_cast<int>(percent.size() + joined(parts).size()); };
  while (length() > room && parts.size() > 1) parts.erase(std::ranges::max_element(parts, {}, &LinePart::drop));
  std::string line = percent;
  if (p.max_iter > 0) line += bar(share_done(p), room - length());
  line += joined(parts);
  line.resize(std::min(line.size(), static_cast<std::size_t>(room)));
  return line;
}

ProgressMode progress_mode(std::string_view name) {
  if (name == "auto") return ProgressMode::automatic;
  if (name == "bar") return ProgressMode::bar;
  if (name == "plain") return ProgressMode::plain;
  if (name == "off") return ProgressMode::off;
  throw UserError(ExitCode::usage, concat("progress cannot be shown as '", name, "'"), "known: auto, bar, plain, off");
}

ProgressDisplay::ProgressDisplay(ProgressMode mode) : mode_(mode) {
  if (mode_ != ProgressMode::automatic) return;
  mode_ = console::is_terminal() ? ProgressMode::bar : ProgressMode::plain;
  if (console_level() == ConsoleLevel::quiet) mode_ = ProgressMode::off;
}

void ProgressDisplay::update(const Progress& progress) {
  if (mode_ != ProgressMode::bar) return;
  latest_ = progress;
  auto now = std::chrono::steady_clock::now();
  if (now < next_draw_) return;
  next_draw_ = now + redraw_interval;
  console::show_status([progress](int columns) { return format_bar(progress, columns); });
}

void ProgressDisplay::report(const Progress& progress) {
  mode_ == ProgressMode::plain ? log_info(format_line(progress)) : log_debug(format_line(progress));
}

void ProgressDisplay::finish() {
  if (next_draw_ == std::chrono::steady_clock::time_point{}) return;  // no bar was drawn
  console::show_status([latest = latest_](int columns) { return format_bar(latest, columns); });
  console::end_status();
  next_draw_ = {};
}

}  // namespace flowtrain
