package soap

// faultName is the element and the type of every fault's detail.
const faultName = "ServiceFault"
