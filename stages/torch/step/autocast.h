#pragma once
// ATen's autocast for train.amp.

#include <ATen/autocast_mode.h>
#include <torch/types.h>

#include <optional>
#include <string>

namespace flowtrain {

/// Returns the type that train.amp or val.amp names; nothing if it is "off".
inline std::optional<at::ScalarType> amp_type(const std::string& amp) {
  return amp == "off" ? std::nullopt : std::optional(amp == "fp16" ? at::kHalf : at::kBFloat16);
}

/// Casts by ATen's autocast lists while it lives.
class Autocast {
 public:
  Autocast(std::optional<at::ScalarType> type, at::DeviceType device) : on_(type), device_(device) {
    if (!on_) return;
    at::autocast::set_autocast_dtype(device_, *type);
    at::autocast::set_autocast_enabled(device_, true);
  }
  ~Autocast() {
    if (!on_) return;
    at::autocast::set_autocast_enabled(device_, false);
    at::autocast::clear_cache();  // weights change with every step
  }
  Autocast(const Autocast&) = delete;

 private:
  bool on_;
  at::DeviceType device_;
};

}  // namespace flowtrain
