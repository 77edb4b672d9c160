#pragma once
// The work of the targets of tables.

#include <string>

#include "sampling/datasets/entries.h"
#include "tests/fuzz/support/data_set_target.h"
#include "tests/support/settings_helper.h"

/// Reads a table whose columns are no files, with and without the columns of classes.
inline void read_table_file(flowtrain::fuzz::Bytes input, const std::string& name) {
  const auto path = flowtrain::fuzz::as_file(input, name).string();
  const auto entry = flowtrain::manifest_entry();
  const auto read = [&](const std::string& label) {
    read_all(*entry.make(
        flowtrain::settings_for(
            entry.keys, {{"path", path}, {"files", std::vector<std::string>()}, {"label", label}, {"labels", label}}),
        {}));
  };
  try {
    read("auto");
  } catch (const flowtrain::UserError&) {
  }
  read("");
}
