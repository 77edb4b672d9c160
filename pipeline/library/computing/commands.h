#pragma once
// The functions of the library's table (api.h).

#include "pipeline/library/computing.h"

namespace flowtrain::computing {

int train(const TrainRequest& request, Interrupt& interrupt);
int bench(const Launch& launch, const BenchRequest& request);
int test(const TestRequest& request, Interrupt& interrupt);
int export_net(const ExportRequest& request);
int average(const AverageRequest& request);

}  // namespace flowtrain::computing
