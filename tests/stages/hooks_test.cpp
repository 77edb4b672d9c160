#include "stages/hooks/hooks.h"

#include <doctest/doctest.h>

#include <stdexcept>

#include "sampling/core/error.h"

namespace flowtrain::hooks_test {

namespace {

/// Writes its name down where it is called.
class Note final : public Hook {
 public:
  Note(std::string name, std::string& notes) : name_(std::move(name)), notes_(notes) {}
  std::vector<HookEvent> events() const override { return {HookEvent::loss, HookEvent::run_end}; }
  void on_event(HookEvent event, HookContext&) override { notes_ += name_ + "@" + std::string(name_of(event)) + " "; }
  std::string state() const override { return name_ == "silent" ? "" : "of " + name_; }
  void restore(const std::string& state) override {
    if (state != "of " + name_) throw std::invalid_argument(state);
    notes_ += name_ + " is back ";
  }

 private:
  std::string name_;
  std::string& notes_;
};

}  // namespace

TEST_CASE("hooks are called by priority, then in the order in which they came") {
  std::string notes;
  Hooks hooks;
  for (auto& [name, priority] : {std::pair{"late", 60}, {"b", 50}, {"c", 50}, {"early", -1}})
    hooks.add(std::make_unique<Note>(name, notes), name, priority);
  CHECK(hooks.wants(HookEvent::loss));
  CHECK_FALSE(hooks.wants(HookEvent::step));
  hooks.call(HookEvent::loss);
  CHECK(notes == "early@loss b@loss c@loss late@loss ");
  CHECK(hooks.describe() ==
        "loss              early (-1), b (50), c (50), late (60)\n"
        "run_end           early (-1), b (50), c (50), late (60)\n");
}

TEST_CASE("what is for the first rank only") {
  std::string notes;
  Hooks hooks;
  hooks.add(std::make_unique<Note>("all", notes), "all");
  hooks.add(std::make_unique<Note>("first", notes), "first", 50, true);
  hooks.context().rank = 1;
  hooks.call(HookEvent::loss);
  CHECK(notes == "all@loss ");
  CHECK(Hooks().describe() == "no hooks: [[hook]] adds some\n");
}

TEST_CASE("what hooks keep goes to those of the same label") {
  std::string notes;
  Hooks hooks;
  for (auto name : {"a", "b", "silent"}) hooks.add(std::make_unique<Note>(name, notes), name);
  CHECK(hooks.states() == std::map<std::string, std::string>{{"a", "of a"}, {"b", "of b"}});
  CHECK(hooks.differences({{"a", "of a"}, {"b", "of b"}}).empty());
  CHECK(hooks.differences({{"b", "of b"}, {"gone", "of another"}}) ==
        std::vector<std::string>{"the snapshot has a state of the hook 'gone', which this run does not have",
                                 "the hook 'a' begins anew: the snapshot has no state of it"});
  hooks.restore({{"b", "of b"}, {"gone", "of another"}});
  CHECK(notes == "b is back ");
  CHECK_THROWS_WITH_AS(hooks.restore({{"a", "of b"}}), "the snapshot's state of the hook a cannot be used: of b",
                       UserError);
}

TEST_CASE("every point has a name, and a metric logged twice stands once") {
  CHECK(all_events().size() == 16);
  CHECK(name_of(HookEvent::run_begin) == "run_begin");
  CHECK(name_of(HookEvent::validation_end) == "validation_end");
  CHECK(name_of(HookEvent::run_end) == "run_end");
  HookContext context;
  context.log("x", 1);
  context.log("y", 2);
  context.log("x", 3);
  CHECK(context.logged == Scalars{{"x", 3}, {"y", 2}});
}

}  // namespace flowtrain::hooks_test
