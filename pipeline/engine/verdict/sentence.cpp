#include "pipeline/engine/verdict/sentence.h"

#include <algorithm>
#include <cmath>

#include "pipeline/base/telemetry/format.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

constexpr double worth_telling = 1.02;  // least speed-up to report; a smaller one is within the variation of runs

std::string percent(double share, int digits = 0) { return printed("%.*f %%", digits, 100 * share); }

std::string times_as_fast(double speedup) { return printed("%.2f times", speedup); }

std::string number_of(unsigned count, const std::string& what) {
  return concat(count, " ", what, count == 1 ? "" : "s");
}

// Returns "`read` limits (2 readers, busy 99 % of the time)".
std::string subject(const Verdict& verdict, const PipelineLoad& load) {
  const std::string share = percent(verdict.share);
  if (verdict.limit == Limit::compute) return "`compute` limits";  // the net's waits say the rest
  if (verdict.limit == Limit::communication)
    return concat("the exchange of gradients limits (", share, " of the time)");
  if (verdict.limit == Limit::cores)
    return concat("the cores limit (", number_of(load.cores, "core"), ", busy ", share, " of the time)");
  const StageLoad* const stage = load.find(verdict.limit);
  const char* const threads = verdict.limit == Limit::read     ? "reader"
                              : verdict.limit == Limit::sample ? "worker"
                                                               : "thread";
  return concat("`", to_text(verdict.limit), "` limits (", number_of(stage ? stage->threads : 1, threads), ", busy ",
                share, " of the time)");
}

// Returns the advice if one thread or batch more would not help.
std::string other_help(const Verdict& verdict, const PipelineLoad& load) {
  switch (verdict.limit) {
    case Limit::read: return "more readers would not help; a faster disk would";
    case Limit::sample: {
      const StageLoad* const stage = load.find(Limit::sample);
      if (verdict.contended && stage && stage->cpu_share < 0.5)
        return "the workers wait for one another (a lock in the sampler?), so more of them would not help";
      return "more workers would not help; cheaper augmentation or smaller stored pictures would";
    }
    case Limit::cores: return "more workers would not help; cheaper augmentation or smaller stored pictures would";
    case Limit::transfer: return "smaller rows would help, and loader.pin if a GPU computes";
    case Limit::plan: return "a cheaper order of samples would help";
    default: return "";
  }
}

}  // namespace

std::string sentence(const Verdict& verdict, const PipelineLoad& load) {
  if (verdict.limit == Limit::none) return "";
  const bool computes = verdict.headspace.has_value();
  std::string text = subject(verdict, load);
  if (computes)
    text += concat(": the net waited for data ", percent(verdict.wait, verdict.wait < 0.1 ? 2 : 1), " of the time");
  std::vector<std::string> help;
  const auto best = std::ranges::max_element(verdict.gains, {}, &Gain::speedup);
  if (best != verdict.gains.end() && best->speedup >= worth_telling)
    help.push_back(concat(best->change, " (", best->key, " = ", best->to, ") would make ",
                          computes ? "training " : "the loader ", times_as_fast(best->speedup), " as fast"));
  else if (const auto other = other_help(verdict, load); !other.empty())
    help.push_back(other);
  if (computes && *verdict.headspace >= worth_telling)
    help.push_back(concat("data that is always ready would make it ", times_as_fast(*verdict.headspace), " as fast"));
  else if (verdict.limit == Limit::compute)
    return text + ", so faster data would gain nothing";
  return help.empty() ? text : concat(text, "; ", join(help, ", "));
}

JsonObject verdict_fields(const Verdict& verdict) {
  ordered_json gains = ordered_json::array();
  for (auto& gain : verdict.gains)
    gains.push_back({{"change", gain.change}, {"speedup", std::round(1000 * gain.speedup) / 1000}});
  JsonObject fields{{"limit", to_text(verdict.limit)}, {"limit_share", verdict.share}, {"gain", std::move(gains)}};
  if (verdict.headspace) {
    fields["headspace"] = *verdict.headspace;
    fields["data_wait"] = verdict.wait;
  }
  return fields;
}

}  // namespace flowtrain
