#include "sampling/datasets/sound_forms.h"

#include <algorithm>
#include <array>

#include "sampling/core/cache_folder.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/core/warning.h"
#include "sampling/datasets/kept_index.h"
#include "sampling/fingerprint.h"
#include "sampling/io/descriptor.h"

namespace flowtrain {
namespace {

// A form as a number: frames (34 bits), channels (10 bits), rate (20 bits). 0 stands for a recording that was not asked
// for yet, 1 for a damaged one, which no form is.
constexpr unsigned channel_bits = 10, rate_bits = 20;
constexpr std::uint64_t unknown_form = 0, damaged_form = 1;

std::uint64_t packed(const SoundForm& form) {
  return (form.frames << channel_bits | form.channels) << rate_bits | form.rate;
}

SoundForm unpacked(std::uint64_t form) {
  constexpr std::uint64_t one = 1;
  return {form >> (channel_bits + rate_bits),
          static_cast<std::uint32_t>(form >> rate_bits & ((one << channel_bits) - 1)),
          static_cast<std::uint32_t>(form & ((one << rate_bits) - 1))};
}

}  // namespace

SoundForm SoundForms::form(std::uint64_t recording) const {
  std::call_once(prepared_, [this] { prepare(); });
  auto& place = forms_[recording];
  const auto known = place.load();
  if (known > damaged_form) return unpacked(known);
  const auto note = [&](std::uint64_t form) {
    auto before = unknown_form;
    if (!place.compare_exchange_strong(before, form))
      place = std::max(before, form);  // one that could not be read may be whole by now
    else if (left_.fetch_sub(1) == 1)
      keep();
  };
  try {
    const auto form = read_(recording);
    note(std::max(packed(form), damaged_form));
    return form;
  } catch (const SampleError&) {
    note(damaged_form);
    throw;
  }
}

void SoundForms::prepare() const {
  forms_ = std::make_unique<std::atomic<std::uint64_t>[]>(recordings_);
  left_ = recordings_;
  key_ = fingerprint_();
  is_kept_ = recall();
}

bool SoundForms::recall() const {
  constexpr std::uint64_t checks = 16;
  const auto folder = cache_folder("sounds");
  std::vector<std::uint64_t> kept(recordings_);
  if (folder.empty() ||
      !KeptValues(folder, "sounds", key_, recordings_).recall(std::as_writable_bytes(std::span(kept))))
    return false;
  for (std::uint64_t check = 0; check < std::min(checks, recordings_); ++check) {
    const auto recording = check * recordings_ / std::min(checks, recordings_);
    try {
      if (kept[recording] != std::max(packed(read_(recording)), damaged_form)) return false;
    } catch (const SampleError&) {
      if (kept[recording] != damaged_form) return false;
    }
  }
  std::uint64_t left = 0;
  for (std::uint64_t i = 0; i < recordings_; ++i) {
    const bool is_known = kept[i] != damaged_form;  // a damaged file may be whole by now
    forms_[i] = is_known ? kept[i] : unknown_form;
    left += is_known ? 0 : 1;
  }
  left_ = left;
  return true;
}

void SoundForms::keep() const {
  const auto folder = cache_folder("sounds");
  std::vector<std::uint64_t> all(forms_.get(), forms_.get() + recordings_);
  if (folder.empty() || is_kept_) return;
  const KeptValues file(folder, "sounds", key_, recordings_);
  if (!file.keep(std::as_bytes(std::span(all))))
    warn(concat("the lengths of the recordings cannot be kept in ", file.path().string(),
                ": headers are read again at the next start"));
}

}  // namespace flowtrain
