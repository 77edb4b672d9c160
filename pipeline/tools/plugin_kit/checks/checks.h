#pragma once
// The functions of the tables in check.h: one file for each check of samplers, one for data sets, one for orders.

#include "pipeline/tools/plugin_kit/report.h"
#include "pipeline/tools/plugin_kit/subject.h"

namespace flowtrain::plugin_kit {

void check_fields(const Subject& subject, Report& report);
void check_returns(const Subject& subject, Report& report);
void check_errors(const Subject& subject, Report& report);
void check_bounds(const Subject& subject, Report& report);
void check_written(const Subject& subject, Report& report);
void check_extents(const Subject& subject, Report& report);
void check_input(const Subject& subject, Report& report);
void check_seed(const Subject& subject, Report& report);
void check_order(const Subject& subject, Report& report);
void check_validation(const Subject& subject, Report& report);
void check_threads(const Subject& subject, Report& report);
void check_blocks(const Subject& subject, Report& report);
void check_damaged(const Subject& subject, Report& report);
void check_leaks(const Subject& subject, Report& report);
void measure_sample(const Subject& subject, Report& report);

void check_dataset_opens(const Subject& subject, Report& report);
void check_dataset_records(const Subject& subject, Report& report);
void check_dataset_same(const Subject& subject, Report& report);
void check_dataset_threads(const Subject& subject, Report& report);
void check_dataset_leaks(const Subject& subject, Report& report);
void measure_read(const Subject& subject, Report& report);

void check_order_opens(const Subject& subject, Report& report);
void check_order_ids(const Subject& subject, Report& report);
void check_order_same(const Subject& subject, Report& report);
void check_order_threads(const Subject& subject, Report& report);
void check_order_leaks(const Subject& subject, Report& report);
void measure_position(const Subject& subject, Report& report);

}  // namespace flowtrain::plugin_kit
