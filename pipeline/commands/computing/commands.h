#pragma once
// The functions of the library's table (api.h). Their namespace differs from that of the program's commands, because
// the library takes a name that both have from the program.

#include "pipeline/commands/computing/api.h"

namespace flowtrain::commands::computing {

int train(const TrainRequest& request, Interrupt& interrupt);
int bench(const Launch& launch, const BenchRequest& request);
#define FLOWTRAIN_COMMAND(...)
#define FLOWTRAIN_COMPUTING_COMMAND(function, ...) int function(const Arguments& arguments, Interrupt& interrupt);
#include "pipeline/commands/list.h"

}  // namespace flowtrain::commands::computing
