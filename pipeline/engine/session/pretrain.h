#pragma once
// Loads the weights to start from: net.pretrain.

#include "stages/model/compute.h"

namespace flowtrain {

class Group;
class Interrupt;
class Settings;

/// Loads the file of net.pretrain (safetensors, or one of torch.save) into rank 0's learner, if one is given; all ranks
/// call it. Warns of tensors that are missing, unexpected or of another shape; with net.strict each of these is a
/// UserError(usage). Throws UserError(snapshot) for a file of another kind or a damaged one; pretrained_file() names
/// the errors of a missing file.
void load_pretrained(Learner& learner, const Settings& net, Group& group, Interrupt* interrupt = nullptr);

}  // namespace flowtrain
