#include "stages/hooks/hooks.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

constexpr std::array point_names{"run_begin",      "resume",       "epoch_begin",      "iteration_begin",
                                 "batch",          "loss",         "backward",         "step",
                                 "iteration_end",  "epoch_end",    "validation_begin", "validation_end",
                                 "snapshot_begin", "snapshot_end", "exception",        "run_end"};
constexpr std::size_t point_count = static_cast<std::size_t>(HookEvent::run_end) + 1;
static_assert(point_names.size() == point_count);

constexpr auto events_in_order = [] {
  std::array<HookEvent, point_count> points{};
  for (std::size_t i = 0; i < point_count; ++i) points[i] = static_cast<HookEvent>(i);
  return points;
}();

}  // namespace

std::string_view name_of(HookEvent event) { return point_names[static_cast<std::size_t>(event)]; }

std::span<const HookEvent> all_events() { return events_in_order; }

void put_scalar(Scalars& scalars, const std::string& name, double value) {
  const auto same = std::ranges::find(scalars, name, &Scalars::value_type::first);
  if (same == scalars.end())
    scalars.emplace_back(name, value);
  else
    same->second = value;
}

void HookContext::log(const std::string& name, double value) { put_scalar(logged, name, value); }

void Hooks::add(std::shared_ptr<Hook> hook, std::string label, std::int64_t priority, bool first_rank_only) {
  entries_.push_back(std::make_unique<Entry>(Entry{std::move(hook), std::move(label), priority, first_rank_only}));
  Entry* entry = entries_.back().get();
  for (const HookEvent event : entry->hook->events()) {
    auto& there = at_[static_cast<std::size_t>(event)];
    const auto after =
        std::upper_bound(there.begin(), there.end(), entry, [](auto* a, auto* b) { return a->priority < b->priority; });
    there.insert(after, entry);
  }
}

void Hooks::call(HookEvent event) {
  for (Entry* entry : at_[static_cast<std::size_t>(event)])
    if (!entry->first_rank_only || context_.rank == 0) try {
        entry->hook->on_event(event, context_);
      } catch (const UserError& error) {
        throw HookError(error.code(), error.what(), error.hint());
      } catch (const std::exception& error) {
        throw HookError(ExitCode::usage, concat("hook ", entry->label, ", at ", name_of(event), " of iteration ",
                                                context_.iteration, ": ", error.what()));
      }
}

std::map<std::string, std::string> Hooks::states() const {
  std::map<std::string, std::string> states;
  for (auto& entry : entries_)
    if (auto state = entry->hook->state(); !state.empty()) states.emplace(entry->label, std::move(state));
  return states;
}

void Hooks::restore(const std::map<std::string, std::string>& states) {
  for (auto& entry : entries_)
    if (const auto found = states.find(entry->label); found != states.end()) try {
        entry->hook->restore(found->second);
      } catch (const UserError&) {
        throw;
      } catch (const std::exception& error) {
        throw UserError(ExitCode::snapshot,
                        concat("the snapshot's state of the hook ", entry->label, " cannot be used: ", error.what()));
      }
}

std::vector<std::string> Hooks::differences(const std::map<std::string, std::string>& states) const {
  std::vector<std::string> found;
  for (auto& [label, state] : states)
    if (std::ranges::none_of(entries_, [&](auto& entry) { return entry->label == label; }))
      found.push_back(concat("the snapshot has a state of the hook '", label, "', which this run does not have"));
  for (auto& [label, state] : this->states())
    if (!states.contains(label))
      found.push_back(concat("the hook '", label, "' begins anew: the snapshot has no state of it"));
  return found;
}

std::string Hooks::describe() const {
  const auto label_of = [](const Entry* entry) {
    return concat(entry->label, " (", entry->priority, entry->first_rank_only ? ", first rank" : "", ")");
  };
  std::string text;
  for (const HookEvent event : all_events()) {
    const auto& there = at_[static_cast<std::size_t>(event)];
    if (there.empty()) continue;
    std::string line(name_of(event));
    line.resize(18, ' ');
    text += line + join(there, ", ", label_of) + "\n";
  }
  return text.empty() ? "no hooks: [[hook]] adds some\n" : text;
}

}  // namespace flowtrain
