package hist

// Decode reads the base64 form without the figures that a document has with it.
var Decode = decode
