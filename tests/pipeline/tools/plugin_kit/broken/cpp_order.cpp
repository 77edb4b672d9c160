// An order whose ids begin with 1.
#include "pipeline/plugin.h"

using namespace flowtrain;

class FromOne final : public Order {
 public:
  explicit FromOne(std::uint64_t size) : size_(size) {}
  std::uint64_t size() const override { return size_; }
  std::uint64_t at(std::uint64_t, std::uint64_t index) const override { return index + 1; }

 private:
  std::uint64_t size_;
};

static void add() {
  orders().add({"broken", "breaks a rule", {}, [](const Settings&, const OrderInput& input) {
                  return std::make_unique<FromOne>(input.dataset.size());
                }});
}

FLOWTRAIN_PLUGIN(add)
