#include "pipeline/tools/plugin_kit/check.h"

#include "pipeline/tools/plugin_kit/checks/checks.h"

namespace flowtrain::plugin_kit {

const std::vector<Check>& sampler_checks() {
  static const std::vector<Check> checks{
      {"fields", "it can be made, and declares its fields soundly", check_fields, Runs::once, true},
      {"returns", "each call returns: none ends the process, or hangs", check_returns, Runs::once, true},
      {"errors", "a record that cannot be used is reported with a message", check_errors, Runs::once, true},
      {"bounds", "nothing is written outside of a row", check_bounds},
      {"written", "every byte of a row is written", check_written},
      {"extents", "rows are as long as the batch asks for, and records are measured alike each time", check_extents},
      {"input", "the record stays as it is", check_input},
      {"seed", "the same record and seed give the same row, also in another process", check_seed, Runs::twice_apart},
      {"order", "a row does not depend on the calls before", check_order, Runs::twice},
      {"validation", "rows of validation do not depend on the seed", check_validation},
      {"threads", "8 threads at once make the rows that one makes", check_threads},
      {"blocks", "rows made by sample_rows() are those of sample()", check_blocks},
      {"damaged", "a damaged record is reported or gives a row", check_damaged},
      {"leaks", "no memory, thread or open file is left behind", check_leaks},
      {"time", "time of one call", measure_sample},
  };
  return checks;
}

const std::vector<Check>& dataset_checks() {
  static const std::vector<Check> checks{
      {"opens", "it can be opened and has records", check_dataset_opens, Runs::once, true},
      {"records", "ids, labels and sizes of the records fit each other", check_dataset_records, Runs::once, true},
      {"same", "a record is the same each time, also in another process", check_dataset_same, Runs::twice_apart},
      {"threads", "8 threads at once read the records that one reads", check_dataset_threads},
      {"leaks", "no memory, thread or open file is left behind", check_dataset_leaks},
      {"time", "time of one read", measure_read},
  };
  return checks;
}

const std::vector<Check>& order_checks() {
  static const std::vector<Check> checks{
      {"opens", "it can be made and has positions", check_order_opens, Runs::once, true},
      {"ids", "ids are those of records", check_order_ids, Runs::once, true},
      {"same", "a position has the same id each time, also in another process", check_order_same, Runs::twice_apart},
      {"threads", "8 threads at once get the ids that one gets", check_order_threads},
      {"leaks", "no memory, thread or open file is left behind", check_order_leaks},
      {"time", "time of one position", measure_position},
  };
  return checks;
}

const std::vector<Check>& checks_of(const std::string& kind) {
  if (kind == "sampler") return sampler_checks();
  return kind == "order" ? order_checks() : dataset_checks();
}

}  // namespace flowtrain::plugin_kit
