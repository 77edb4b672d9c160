// The check `written`: a byte was not written if it keeps two different earlier values.

#include "pipeline/tools/plugin_kit/checks/checks.h"
#include "pipeline/tools/plugin_kit/rows.h"
#include "sampling/core/text.h"

namespace flowtrain::plugin_kit {

void check_written(const Subject& subject, Report& report) {
  constexpr std::byte before{0x5c}, other_before{0xa3};
  const auto sampler = subject.make_sampler();
  Rows rows(sampler->fields()), again(sampler->fields());
  for (auto& item : items_of(subject)) {
    report.at(item.name());
    rows.fill(before);
    again.fill(other_before);
    if (make_row(*sampler, item.trial->record, item.position, rows)) continue;
    make_row(*sampler, item.trial->record, item.position, again);
    for (std::size_t f = 0; f < rows.fields().size(); ++f) {
      const auto bytes = rows.bytes(f), others = again.bytes(f);
      for (std::size_t i = 0; i < bytes.size(); ++i)
        if (bytes[i] == before && others[i] == other_before)
          throw CheckFailure{concat(item.name(), ": byte ", i, " of the field '", rows.fields()[f].name,
                                    "' was not written, which has ", bytes.size(), " bytes"),
                             "write every byte of each field: the memory holds an earlier row"};
    }
  }
}

}  // namespace flowtrain::plugin_kit
