/** What we call ourselves in ApiVersions. The gateway lists the private key 32001 only to this name. */
export const SOFTWARE_NAME = 'isthmus';
/** Kept equal to package.json by a unit test: the compiled tree has no package.json beside it. */
export const SOFTWARE_VERSION = '0.1.0';
