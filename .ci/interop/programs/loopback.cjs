// For `node --require`: a listener that names no host gets the loopback, not every interface.
const { Server } = require("node:net");

const listen = Server.prototype.listen;
Server.prototype.listen = function (where, ...rest) {
  if (typeof where === "object" && where?.port !== undefined) return listen.call(this, { host: "127.0.0.1", ...where }, ...rest);
  const port = Number(where);
  if (where !== "" && Number.isInteger(port) && typeof rest[0] !== "string") rest.unshift("127.0.0.1");
  return listen.call(this, where, ...rest);
};
