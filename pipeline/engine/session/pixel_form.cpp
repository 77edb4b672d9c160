#include "pipeline/engine/session/pixel_form.h"

#include "sampling/core/error.h"
#include "sampling/samplers/stored.h"

namespace flowtrain {

std::optional<PixelForm> pixel_form(const Dataset& dataset) try {
  if (!dataset.resident()) return std::nullopt;
  const StoredForm form = stored_form(dataset);
  if (form.encoding != Encoding::pixels && form.encoding != Encoding::shapes) return std::nullopt;
  return PixelForm{static_cast<std::uint64_t>(form.height), static_cast<std::uint64_t>(form.width),
                   static_cast<std::uint64_t>(form.channels)};
} catch (const UserError&) {
  return std::nullopt;  // none of the first records can be read: training says so, if it needs them
}

}  // namespace flowtrain
