#pragma once
// The hooks of a run, in their order.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sampling/core/error.h"
#include "stages/hooks/hook.h"

namespace flowtrain {

/// An exception of a hook, which ends the run whatever the run does about other errors.
class HookError : public UserError {
 public:
  using UserError::UserError;
};

/// Sets the value of that name, or adds it.
void put_scalar(Scalars& scalars, const std::string& name, double value);

/// Calls hooks. One thread.
class Hooks {
 public:
  /// `label` is for people and for state(); hooks with a lower `priority` are called first, equal ones in the order
  /// added; `first_rank_only`: other processes do not call it.
  void add(std::shared_ptr<Hook> hook, std::string label, std::int64_t priority = 50, bool first_rank_only = false);

  /// Returns whether a hook listens to the event.
  bool wants(HookEvent event) const { return !at_[static_cast<std::size_t>(event)].empty(); }
  /// Calls the hooks of an event with context(). Throws HookError.
  void call(HookEvent event);
  HookContext& context() { return context_; }

  /// Returns states by label; empty ones are left out.
  std::map<std::string, std::string> states() const;
  /// Throws UserError(snapshot) for a state that a hook refuses. States of absent hooks are ignored.
  void restore(const std::map<std::string, std::string>& states);
  /// Returns a sentence for each of these states that no hook takes, and for each hook with a state of its own that is
  /// not among them. Called before restore().
  std::vector<std::string> differences(const std::map<std::string, std::string>& states) const;

  /// Returns "iteration_begin   warm (10), noise (50)", a line for each event that has hooks.
  std::string describe() const;

 private:
  struct Entry {
    std::shared_ptr<Hook> hook;
    std::string label;
    std::int64_t priority;
    bool first_rank_only;
  };

  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<Entry*> at_[static_cast<std::size_t>(HookEvent::run_end) + 1];
  HookContext context_;
};

}  // namespace flowtrain
