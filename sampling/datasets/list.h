// The built-in data sets, one line each. FLOWTRAIN_ENTRY says how a line is used.

FLOWTRAIN_ENTRY(arrays)
FLOWTRAIN_ENTRY(cifar)
FLOWTRAIN_ENTRY(coco)
FLOWTRAIN_ENTRY(idx)
FLOWTRAIN_ENTRY(image_folder)
FLOWTRAIN_ENTRY(manifest)
FLOWTRAIN_ENTRY(shapes)
FLOWTRAIN_ENTRY(tensors)
FLOWTRAIN_ENTRY(text)
FLOWTRAIN_ENTRY(tokens)
FLOWTRAIN_ENTRY(voc)
FLOWTRAIN_ENTRY(webdataset)
