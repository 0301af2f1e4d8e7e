// about: the older form of modules
const http = require('k6/http');
const { suffix } = require('./lib/suffix.js');

module.exports.options = { vus: 1, iterations: 2 };

module.exports.default = function () {
	http.post(`${__ENV.BASE}/note`, suffix);
};
