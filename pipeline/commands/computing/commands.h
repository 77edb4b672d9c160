#pragma once
// What the library's files give to its table (door.h). Not named as the program's commands are: the library takes a
// name that both have from the program.

#include "pipeline/commands/computing/api.h"

namespace flowtrain::commands::computing {

int train(const TrainRequest& request, Interrupt& interrupt);
int test(const Arguments& arguments);
int bench(const Launch& launch, const BenchRequest& request);

}  // namespace flowtrain::commands::computing
