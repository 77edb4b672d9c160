// A sampler that goes down with its process at the record that its key `record` names. Its rows are two drawn numbers.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "sampling/plugin.hpp"

namespace plugin = flowtrain::plugin;

namespace {

class Crashing : public plugin::Sampler {
 public:
  explicit Crashing(const plugin::Create& create)
      : how_(create.text("how")), record_(static_cast<std::uint64_t>(create.integer("record"))) {
    if (how_ == "create") std::abort();
  }

  std::vector<ft_field> fields() const override {
    return {plugin::field("draws", FT_I32, {2}), plugin::field("label", FT_I64, {})};
  }

  void sample(const ft_record& record, plugin::Random& random, std::span<std::uint8_t* const> rows) const override {
    const std::uint32_t draws[2] = {random.next(), random.next()};
    std::memcpy(rows[0], draws, sizeof draws);
    std::memcpy(rows[1], &record.label, sizeof record.label);
    if (record.id != record_) return;
    if (how_ == "kill") ::raise(SIGKILL);
    if (how_ == "abort") std::abort();
    if (how_ == "exit") std::exit(3);
    if (how_ == "error") throw plugin::Error("not this one");
    if (how_ != "hang") return;
    std::fprintf(stderr, "hanging in process %d\n", static_cast<int>(::getpid()));
    for (;;) ::pause();
  }

 private:
  std::string how_;
  std::uint64_t record_;
};

}  // namespace

FLOWTRAIN_SAMPLER_PLUGIN(Crashing, "crashing", "goes down where it is told to",
                         {"how", FT_TEXT, "nowhere", "nowhere, kill, abort, exit, error, hang or create"},
                         {"record", FT_INTEGER, "17", "the record at which it does"})
