#pragma once
// Turns a document into a checked configuration: the keys that exist depend on the parts that it names.

#include <string>

#include "pipeline/base/config/config.h"
#include "pipeline/base/config/document.h"

namespace flowtrain {

/// `default_name` is the run's name if none was written. Throws UserError(usage) for the first mistake.
Config resolve(Document document, const std::string& default_name);

}  // namespace flowtrain
