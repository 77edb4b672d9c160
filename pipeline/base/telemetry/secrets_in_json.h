#pragma once
// Masks secrets in JSON that leaves the process: without_secrets() for each text in it.

#include <nlohmann/json.hpp>
#include <string>

#include "sampling/core/secrets.h"

namespace flowtrain {

/// Masks all texts of `json`, and whole members by their names. Pictures (data: addresses) stay unchanged.
template <class Json>
void mask_secrets(Json& json) {
  if (json.is_string()) {
    auto& text = json.template get_ref<std::string&>();
    if (!text.starts_with("data:")) text = without_secrets(text);
  } else if (json.is_object()) {
    for (auto& [name, value] : json.items()) {
      if (value.is_string() && is_secret_name(name))
        value = std::string(secret_mask);
      else
        mask_secrets(value);
    }
  } else if (json.is_array()) {
    for (auto& value : json) mask_secrets(value);
  }
}

}  // namespace flowtrain
