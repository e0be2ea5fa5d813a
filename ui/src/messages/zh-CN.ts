import type { Messages } from "./index";

/** 简体中文 */
export const zhCN: Messages = {
  "app.name": "Gatehouse",
  "status.gateway": "网关地址",
  "status.copy": "复制",
  "status.copied": "已复制",
  "status.servers": "运行中的服务器",
  "status.serversOf": "{running} / {all}",
  "status.tools": "工具",
  "status.clients": "客户端",
  "status.waiting": "等待您处理",
  "status.paused": "已全部暂停：任何调用都不会通过。",
  "status.loading": "正在读取 Gatehouse 的状态…",
  "status.again": "重试",
  "status.secrets.keychain": "机密保存在系统钥匙串中。",
  "status.secrets.vault": "机密保存在加密保险库中。",
  "status.secrets.memory": "机密仅保存在内存中：退出 Gatehouse 后即消失。",
  "status.dataDir": "所有数据保存在 {folder}",
  "theme.label": "外观",
  "theme.system": "跟随系统",
  "theme.light": "浅色",
  "theme.dark": "深色",
  "language.label": "语言",
  "language.system": "跟随系统",
};
