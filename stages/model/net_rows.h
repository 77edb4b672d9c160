#pragma once
// The rows that nets take.

#include <algorithm>
#include <string>
#include <vector>

#include "nets/entries.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "sampling/field_text.h"
#include "sampling/sampler.h"

namespace flowtrain {

/// The way out for rows that no built-in net takes.
inline constexpr const char* way_out_of_no_pictures =
    "add a field `image`, or name a net of PyTorch by net.package, which takes any fields";

/// Returns the field of the pictures that nets read, of groups the first one; null if there is none.
inline const Field* pictures_of(const std::vector<Field>& fields) {
  const auto found = std::ranges::find_if(
      fields, [](const Field& field) { return is_image_name(field.name) && field.shape.size() == 3; });
  return found == fields.end() ? nullptr : &*found;
}

/// Returns why the net of the table [net] cannot take rows of these fields; empty if it may.
inline std::string why_no_pictures(const Settings& net, const std::vector<Field>& fields) {
  const std::string& name = net.text("name");
  if (!nets::nets().has(name) || nets::nets().at(name).traits.least_side == 0 || pictures_of(fields)) return {};
  return concat("net ", name,
                ": takes pictures, but the rows have no field `image` of them: ", join(fields, ", ", describe_form));
}

}  // namespace flowtrain
