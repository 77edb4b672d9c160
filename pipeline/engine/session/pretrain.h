#pragma once
// Weights to start from: net.pretrain.

#include "stages/model/compute.h"

namespace flowtrain {

class Group;
class Interrupt;
class Settings;

/// Loads the file of net.pretrain (safetensors, or what torch.save wrote) into rank 0's learner, if one is given; all
/// ranks call it. Lists what is missing, unexpected or of another shape as warnings; with net.strict any of these is a
/// UserError(usage). A file that is not there or not the one: see pretrained_file(); one that is no such file or
/// damaged: UserError(snapshot).
void load_pretrained(Learner& learner, const Settings& net, Group& group, Interrupt* interrupt = nullptr);

}  // namespace flowtrain
